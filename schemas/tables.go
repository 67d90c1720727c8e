package schemas

// Tables are all tables, in the order in which they are printed and written.
var Tables = []*Table{&CPU, &Memory, &Disk, &Net, &Load, &Paging, &Pressure, &Cgroup, &Process, &Collector, &Workload, &Summary, &Quality}

// CPU is one logical CPU at one tick: the cpuN lines of /proc/stat (proc_stat(5)),
// in USER_HZ ticks since boot. The kernel's summary line is not kept: after a CPU
// went away it falls, the sum over CPUs with known increments does not.
var CPU = Table{Name: "cpu", Version: 1, Device: "cpu", Alike: true, Class: "cpu", Columns: []Column{
	{Name: "user_ticks", Unit: "tick", Kind: Share, Sar: "%user", Help: "user mode, guest time included"},
	{Name: "nice_ticks", Unit: "tick", Kind: Share, Sar: "%nice", Help: "user mode with low priority, guest_nice included"},
	{Name: "system_ticks", Unit: "tick", Kind: Share, Sar: "%system", Help: "kernel mode"},
	{Name: "idle_ticks", Unit: "tick", Kind: Share, Retreats: "signed", Sar: "%idle", Help: "idle; may go back by a few ticks on some kernels"},
	{Name: "iowait_ticks", Unit: "tick", Kind: Share, Retreats: "signed", Sar: "%iowait", Help: "idle while a task waits for I/O; goes back on some kernels"},
	{Name: "irq_ticks", Unit: "tick", Kind: Share, Sar: "%irq", Help: "servicing interrupts"},
	{Name: "softirq_ticks", Unit: "tick", Kind: Share, Sar: "%soft", Help: "servicing softirqs"},
	{Name: "steal_ticks", Unit: "tick", Kind: Share, Retreats: "null", Better: Lower, Sar: "%steal", Help: "wanted to run, but the hypervisor ran another guest"},
	{Name: "guest_ticks", Unit: "tick", Kind: Share, Within: "user_ticks", Sar: "%guest", Help: "running a guest; already in user_ticks"},
	{Name: "guest_nice_ticks", Unit: "tick", Kind: Share, Within: "nice_ticks", Sar: "%gnice", Help: "running a niced guest; already in nice_ticks"},
}, Derived: []Metric{
	{Name: "busy_pct", Unit: "%", Better: Lower, Factor: 100,
		Plus: []string{"user_ticks", "nice_ticks", "system_ticks", "irq_ticks", "softirq_ticks"},
		Per:  []string{"user_ticks", "nice_ticks", "system_ticks", "idle_ticks", "iowait_ticks", "irq_ticks", "softirq_ticks", "steal_ticks"},
		Help: "work done: all but idle, iowait and steal"},
}, Help: "per CPU, from /proc/stat"}

// Memory is /proc/meminfo (proc_meminfo(5)), its kB brought to bytes.
var Memory = Table{Name: "memory", Version: 1, Class: "memory", Columns: []Column{
	{Name: "total_bytes", Unit: "B", Kind: Gauge, Source: "MemTotal", Mul: 1024, Help: "usable memory"},
	{Name: "free_bytes", Unit: "B", Kind: Gauge, Source: "MemFree", Mul: 1024, Sar: "kbmemfree", Help: "not used at all"},
	{Name: "available_bytes", Unit: "B", Kind: Gauge, Source: "MemAvailable", Mul: 1024, Better: Higher, Sar: "kbavail", Help: "the kernel's estimate of what new programs can have without swapping; null before Linux 3.14"},
	{Name: "buffers_bytes", Unit: "B", Kind: Gauge, Source: "Buffers", Mul: 1024, Sar: "kbbuffers", Help: "raw block device cache"},
	{Name: "cached_bytes", Unit: "B", Kind: Gauge, Source: "Cached", Mul: 1024, Sar: "kbcached", Help: "page cache, shared memory included, swap cache not"},
	{Name: "swap_cached_bytes", Unit: "B", Kind: Gauge, Source: "SwapCached", Mul: 1024, Sar: "kbswpcad", Help: "in memory and still in swap"},
	{Name: "active_bytes", Unit: "B", Kind: Gauge, Source: "Active", Mul: 1024, Sar: "kbactive", Help: "recently used"},
	{Name: "inactive_bytes", Unit: "B", Kind: Gauge, Source: "Inactive", Mul: 1024, Sar: "kbinact", Help: "first to be reclaimed"},
	{Name: "active_anon_bytes", Unit: "B", Kind: Gauge, Source: "Active(anon)", Mul: 1024, Help: "active anonymous pages"},
	{Name: "inactive_anon_bytes", Unit: "B", Kind: Gauge, Source: "Inactive(anon)", Mul: 1024, Help: "inactive anonymous pages"},
	{Name: "active_file_bytes", Unit: "B", Kind: Gauge, Source: "Active(file)", Mul: 1024, Help: "active page cache"},
	{Name: "inactive_file_bytes", Unit: "B", Kind: Gauge, Source: "Inactive(file)", Mul: 1024, Help: "inactive page cache"},
	{Name: "unevictable_bytes", Unit: "B", Kind: Gauge, Source: "Unevictable", Mul: 1024, Help: "can't be reclaimed"},
	{Name: "mlocked_bytes", Unit: "B", Kind: Gauge, Source: "Mlocked", Mul: 1024, Help: "locked by mlock(2)"},
	{Name: "swap_total_bytes", Unit: "B", Kind: Gauge, Source: "SwapTotal", Mul: 1024, Help: "swap space"},
	{Name: "swap_free_bytes", Unit: "B", Kind: Gauge, Source: "SwapFree", Mul: 1024, Sar: "kbswpfree", Help: "unused swap space"},
	{Name: "zswap_bytes", Unit: "B", Kind: Gauge, Source: "Zswap", Mul: 1024, Help: "memory used by zswap"},
	{Name: "zswapped_bytes", Unit: "B", Kind: Gauge, Source: "Zswapped", Mul: 1024, Help: "anonymous memory kept in zswap"},
	{Name: "dirty_bytes", Unit: "B", Kind: Gauge, Source: "Dirty", Mul: 1024, Sar: "kbdirty", Help: "waiting to be written to disk"},
	{Name: "writeback_bytes", Unit: "B", Kind: Gauge, Source: "Writeback", Mul: 1024, Help: "being written to disk"},
	{Name: "anon_bytes", Unit: "B", Kind: Gauge, Source: "AnonPages", Mul: 1024, Sar: "kbanonpg", Help: "anonymous pages in page tables"},
	{Name: "mapped_bytes", Unit: "B", Kind: Gauge, Source: "Mapped", Mul: 1024, Help: "mapped files"},
	{Name: "shmem_bytes", Unit: "B", Kind: Gauge, Source: "Shmem", Mul: 1024, Help: "shared memory and tmpfs"},
	{Name: "kreclaimable_bytes", Unit: "B", Kind: Gauge, Source: "KReclaimable", Mul: 1024, Help: "kernel memory reclaimed under pressure"},
	{Name: "slab_bytes", Unit: "B", Kind: Gauge, Source: "Slab", Mul: 1024, Sar: "kbslab", Help: "the kernel's own data structures"},
	{Name: "slab_reclaimable_bytes", Unit: "B", Kind: Gauge, Source: "SReclaimable", Mul: 1024, Help: "the part of slab that may be reclaimed"},
	{Name: "slab_unreclaimable_bytes", Unit: "B", Kind: Gauge, Source: "SUnreclaim", Mul: 1024, Help: "the part of slab that may not"},
	{Name: "kernel_stack_bytes", Unit: "B", Kind: Gauge, Source: "KernelStack", Mul: 1024, Sar: "kbkstack", Help: "kernel stacks"},
	{Name: "page_tables_bytes", Unit: "B", Kind: Gauge, Source: "PageTables", Mul: 1024, Sar: "kbpgtbl", Help: "page tables"},
	{Name: "sec_page_tables_bytes", Unit: "B", Kind: Gauge, Source: "SecPageTables", Mul: 1024, Help: "secondary page tables (KVM, IOMMU)"},
	{Name: "nfs_unstable_bytes", Unit: "B", Kind: Gauge, Source: "NFS_Unstable", Mul: 1024, Help: "NFS pages sent and not yet committed; 0 since Linux 5.8"},
	{Name: "bounce_bytes", Unit: "B", Kind: Gauge, Source: "Bounce", Mul: 1024, Help: "bounce buffers"},
	{Name: "writeback_tmp_bytes", Unit: "B", Kind: Gauge, Source: "WritebackTmp", Mul: 1024, Help: "FUSE writeback buffers"},
	{Name: "commit_limit_bytes", Unit: "B", Kind: Gauge, Source: "CommitLimit", Mul: 1024, Help: "what may be committed under strict overcommit"},
	{Name: "committed_bytes", Unit: "B", Kind: Gauge, Source: "Committed_AS", Mul: 1024, Sar: "kbcommit", Help: "promised to processes"},
	{Name: "vmalloc_total_bytes", Unit: "B", Kind: Gauge, Source: "VmallocTotal", Mul: 1024, Help: "vmalloc address space"},
	{Name: "vmalloc_used_bytes", Unit: "B", Kind: Gauge, Source: "VmallocUsed", Mul: 1024, Sar: "kbvmused", Help: "vmalloc space in use"},
	{Name: "vmalloc_chunk_bytes", Unit: "B", Kind: Gauge, Source: "VmallocChunk", Mul: 1024, Help: "largest free vmalloc block; 0 since Linux 4.4"},
	{Name: "percpu_bytes", Unit: "B", Kind: Gauge, Source: "Percpu", Mul: 1024, Help: "per-CPU allocations"},
	{Name: "hardware_corrupted_bytes", Unit: "B", Kind: Gauge, Source: "HardwareCorrupted", Mul: 1024, Help: "memory the kernel found broken"},
	{Name: "anon_huge_pages_bytes", Unit: "B", Kind: Gauge, Source: "AnonHugePages", Mul: 1024, Help: "transparent huge pages, anonymous"},
	{Name: "shmem_huge_pages_bytes", Unit: "B", Kind: Gauge, Source: "ShmemHugePages", Mul: 1024, Help: "transparent huge pages, shared memory"},
	{Name: "shmem_pmd_mapped_bytes", Unit: "B", Kind: Gauge, Source: "ShmemPmdMapped", Mul: 1024, Help: "shared memory mapped by huge pages"},
	{Name: "file_huge_pages_bytes", Unit: "B", Kind: Gauge, Source: "FileHugePages", Mul: 1024, Help: "page cache in huge pages"},
	{Name: "file_pmd_mapped_bytes", Unit: "B", Kind: Gauge, Source: "FilePmdMapped", Mul: 1024, Help: "page cache mapped by huge pages"},
	{Name: "cma_total_bytes", Unit: "B", Kind: Gauge, Source: "CmaTotal", Mul: 1024, Help: "contiguous memory allocator's reserve"},
	{Name: "cma_free_bytes", Unit: "B", Kind: Gauge, Source: "CmaFree", Mul: 1024, Help: "its free part"},
	{Name: "unaccepted_bytes", Unit: "B", Kind: Gauge, Source: "Unaccepted", Mul: 1024, Help: "memory not yet accepted by a confidential guest"},
	{Name: "balloon_bytes", Unit: "B", Kind: Gauge, Source: "Balloon", Mul: 1024, Help: "returned to the hypervisor"},
	{Name: "huge_pages_total", Unit: "page", Kind: Gauge, Source: "HugePages_Total", Help: "pages in the huge page pool"},
	{Name: "huge_pages_free", Unit: "page", Kind: Gauge, Source: "HugePages_Free", Help: "its free pages"},
	{Name: "huge_pages_reserved", Unit: "page", Kind: Gauge, Source: "HugePages_Rsvd", Help: "promised, not yet allocated"},
	{Name: "huge_pages_surplus", Unit: "page", Kind: Gauge, Source: "HugePages_Surp", Help: "above the pool's size"},
	{Name: "huge_page_bytes", Unit: "B", Kind: Gauge, Source: "Hugepagesize", Mul: 1024, Help: "size of a default huge page"},
	{Name: "hugetlb_bytes", Unit: "B", Kind: Gauge, Source: "Hugetlb", Mul: 1024, Help: "huge page pools of all sizes"},
	{Name: "direct_map_4k_bytes", Unit: "B", Kind: Gauge, Source: "DirectMap4k", Mul: 1024, Help: "mapped linearly by 4 KiB pages"},
	{Name: "direct_map_2m_bytes", Unit: "B", Kind: Gauge, Source: "DirectMap2M", Mul: 1024, Help: "mapped linearly by 2 MiB pages"},
	{Name: "direct_map_1g_bytes", Unit: "B", Kind: Gauge, Source: "DirectMap1G", Mul: 1024, Help: "mapped linearly by 1 GiB pages"},
}, Derived: []Metric{
	{Name: "used_bytes", Unit: "B", Better: Lower, Plus: []string{"total_bytes"}, Minus: []string{"available_bytes"},
		Sar: "kbmemused", Help: "total less available, as sysstat counts it since 12.7.8"},
}, Help: "from /proc/meminfo"}

// Disk is one block device: /proc/diskstats (Documentation/admin-guide/iostats.rst),
// its 512-byte sectors brought to bytes and its milliseconds to nanoseconds.
// Partitions are left out: their whole device counts them.
var Disk = Table{Name: "disk", Version: 1, Device: "disk", Class: "disk",
	NoTotal: []string{"dm-", "md", "loop", "ram", "zram", "drbd", "bcache"},
	Columns: []Column{
		{Name: "reads", Kind: Counter, Sar: "rtps", Help: "reads completed"},
		{Name: "reads_merged", Kind: Counter, Help: "reads merged into others"},
		{Name: "read_bytes", Unit: "B", Kind: Counter, Mul: 512, Sar: "rkB/s", Help: "bytes read"},
		{Name: "read_ns", Unit: "ns", Kind: Counter, Mul: 1e6, Help: "time of all reads, summed"},
		{Name: "writes", Kind: Counter, Sar: "wtps", Help: "writes completed"},
		{Name: "writes_merged", Kind: Counter, Help: "writes merged into others"},
		{Name: "write_bytes", Unit: "B", Kind: Counter, Mul: 512, Sar: "wkB/s", Help: "bytes written"},
		{Name: "write_ns", Unit: "ns", Kind: Counter, Mul: 1e6, Help: "time of all writes, summed"},
		{Name: "in_flight", Kind: Gauge, Help: "I/Os in progress"},
		{Name: "io_ns", Unit: "ns", Kind: Busy, Mul: 1e6, Sar: "%util", Help: "time with at least one I/O in progress"},
		{Name: "weighted_io_ns", Unit: "ns", Kind: Counter, Mul: 1e6, Help: "time of all I/Os, weighted by their number"},
		{Name: "discards", Kind: Counter, Sar: "dtps", Help: "discards completed; null before Linux 4.18"},
		{Name: "discards_merged", Kind: Counter, Help: "discards merged into others"},
		{Name: "discard_bytes", Unit: "B", Kind: Counter, Mul: 512, Sar: "dkB/s", Help: "bytes discarded"},
		{Name: "discard_ns", Unit: "ns", Kind: Counter, Mul: 1e6, Help: "time of all discards, summed"},
		{Name: "flushes", Kind: Counter, Help: "flush requests completed; null before Linux 5.5"},
		{Name: "flush_ns", Unit: "ns", Kind: Counter, Mul: 1e6, Help: "time of all flush requests, summed"},
	}, Derived: []Metric{
		{Name: "await_s", Unit: "s", Better: Lower, Factor: 1e-9, Plus: []string{"read_ns", "write_ns"}, Per: []string{"reads", "writes"}, Sar: "await", Help: "mean time of a read or write"},
		{Name: "queue_size", Better: None, Factor: 1e-9, Plus: []string{"weighted_io_ns"}, Sar: "aqu-sz", Help: "mean number of I/Os in the queue"},
	}, Help: "per block device, from /proc/diskstats"}

// Net is one network interface: /proc/net/dev (proc_pid_net(5)).
var Net = Table{Name: "net", Version: 1, Device: "interface", Class: "net",
	NoTotal: []string{"lo"}, Columns: []Column{
		{Name: "rx_bytes", Unit: "B", Kind: Counter, Sar: "rxkB/s", Help: "bytes received"},
		{Name: "rx_packets", Kind: Counter, Sar: "rxpck/s", Help: "packets received"},
		{Name: "rx_errors", Kind: Counter, Better: Lower, Sar: "rxerr/s", Help: "bad packets received"},
		{Name: "rx_dropped", Kind: Counter, Better: Lower, Sar: "rxdrop/s", Help: "dropped on receipt for want of room"},
		{Name: "rx_fifo", Kind: Counter, Better: Lower, Sar: "rxfifo/s", Help: "FIFO overruns on receipt"},
		{Name: "rx_frame", Kind: Counter, Better: Lower, Sar: "rxfram/s", Help: "framing errors"},
		{Name: "rx_compressed", Kind: Counter, Sar: "rxcmp/s", Help: "compressed packets received"},
		{Name: "rx_multicast", Kind: Counter, Sar: "rxmcst/s", Help: "multicast packets received"},
		{Name: "tx_bytes", Unit: "B", Kind: Counter, Sar: "txkB/s", Help: "bytes sent"},
		{Name: "tx_packets", Kind: Counter, Sar: "txpck/s", Help: "packets sent"},
		{Name: "tx_errors", Kind: Counter, Better: Lower, Sar: "txerr/s", Help: "errors on sending"},
		{Name: "tx_dropped", Kind: Counter, Better: Lower, Sar: "txdrop/s", Help: "dropped on sending"},
		{Name: "tx_fifo", Kind: Counter, Better: Lower, Sar: "txfifo/s", Help: "FIFO overruns on sending"},
		{Name: "tx_collisions", Kind: Counter, Better: Lower, Sar: "coll/s", Help: "collisions"},
		{Name: "tx_carrier", Kind: Counter, Better: Lower, Sar: "txcarr/s", Help: "carrier losses"},
		{Name: "tx_compressed", Kind: Counter, Sar: "txcmp/s", Help: "compressed packets sent"},
	}, Help: "per interface, from /proc/net/dev; totals leave lo out"}

// Load is /proc/loadavg (proc_loadavg(5)) and procs_blocked of /proc/stat.
var Load = Table{Name: "load", Version: 1, Class: "load", Columns: []Column{
	{Name: "ldavg_1", Kind: Gauge, Div: 100, Sar: "ldavg-1", Help: "load average over the last minute"},
	{Name: "ldavg_5", Kind: Gauge, Div: 100, Sar: "ldavg-5", Help: "over the last 5 minutes"},
	{Name: "ldavg_15", Kind: Gauge, Div: 100, Sar: "ldavg-15", Help: "over the last 15 minutes"},
	{Name: "runq_sz", Unit: "task", Kind: Gauge, Sar: "runq-sz", Help: "tasks running or waiting to run, the reader itself included"},
	{Name: "plist_sz", Unit: "task", Kind: Gauge, Sar: "plist-sz", Help: "tasks in the task list"},
	{Name: "blocked", Unit: "task", Kind: Gauge, Sar: "blocked", Help: "tasks waiting for I/O"},
}, Help: "from /proc/loadavg and /proc/stat"}

// Paging is /proc/vmstat (proc_vmstat(5)); KiB brought to bytes.
var Paging = Table{Name: "paging", Version: 1, Class: "paging", Columns: []Column{
	{Name: "pgpgin_bytes", Unit: "B", Kind: Counter, Source: "pgpgin", Mul: 1024, Sar: "pgpgin/s", Help: "paged in from disk"},
	{Name: "pgpgout_bytes", Unit: "B", Kind: Counter, Source: "pgpgout", Mul: 1024, Sar: "pgpgout/s", Help: "paged out to disk"},
	{Name: "pgfault", Unit: "page", Kind: Counter, Source: "pgfault", Sar: "fault/s", Help: "page faults, minor and major"},
	{Name: "pgmajfault", Unit: "page", Kind: Counter, Source: "pgmajfault", Better: Lower, Sar: "majflt/s", Help: "faults that needed a read from disk"},
	{Name: "pgfree", Unit: "page", Kind: Counter, Source: "pgfree", Sar: "pgfree/s", Help: "pages freed"},
	{Name: "pswpin", Unit: "page", Kind: Counter, Source: "pswpin", Better: Lower, Sar: "pswpin/s", Help: "pages swapped in"},
	{Name: "pswpout", Unit: "page", Kind: Counter, Source: "pswpout", Better: Lower, Sar: "pswpout/s", Help: "pages swapped out"},
	{Name: "pgactivate", Unit: "page", Kind: Counter, Source: "pgactivate", Help: "pages moved to the active list"},
	{Name: "pgdeactivate", Unit: "page", Kind: Counter, Source: "pgdeactivate", Help: "pages moved to the inactive list"},
	{Name: "pgrefill", Unit: "page", Kind: Counter, Source: "pgrefill", Help: "pages scanned on the active list"},
	{Name: "pgscan_kswapd", Unit: "page", Kind: Counter, Source: "pgscan_kswapd", Sar: "pgscank/s", Help: "pages scanned by kswapd"},
	{Name: "pgscan_direct", Unit: "page", Kind: Counter, Source: "pgscan_direct", Sar: "pgscand/s", Help: "pages scanned by allocating tasks"},
	{Name: "pgscan_khugepaged", Unit: "page", Kind: Counter, Source: "pgscan_khugepaged", Help: "pages scanned by khugepaged"},
	{Name: "pgsteal_kswapd", Unit: "page", Kind: Counter, Source: "pgsteal_kswapd", Sar: "pgsteal/s", Help: "pages reclaimed by kswapd"},
	{Name: "pgsteal_direct", Unit: "page", Kind: Counter, Source: "pgsteal_direct", Help: "pages reclaimed by allocating tasks"},
	{Name: "pgsteal_khugepaged", Unit: "page", Kind: Counter, Source: "pgsteal_khugepaged", Help: "pages reclaimed by khugepaged"},
	{Name: "slabs_scanned", Kind: Counter, Source: "slabs_scanned", Help: "slab objects scanned"},
	{Name: "compact_stall", Kind: Counter, Source: "compact_stall", Help: "allocations that waited for compaction"},
	{Name: "compact_fail", Kind: Counter, Source: "compact_fail", Help: "compactions that failed"},
	{Name: "thp_fault_alloc", Kind: Counter, Source: "thp_fault_alloc", Help: "huge pages allocated on a fault"},
	{Name: "thp_fault_fallback", Kind: Counter, Source: "thp_fault_fallback", Help: "huge page faults that fell back to small pages"},
	{Name: "thp_collapse_alloc", Kind: Counter, Source: "thp_collapse_alloc", Help: "huge pages made by khugepaged"},
	{Name: "numa_hint_faults", Kind: Counter, Source: "numa_hint_faults", Help: "NUMA balancing faults"},
	{Name: "numa_pages_migrated", Unit: "page", Kind: Counter, Source: "numa_pages_migrated", Help: "pages migrated by NUMA balancing"},
	{Name: "workingset_refault_anon", Unit: "page", Kind: Counter, Source: "workingset_refault_anon", Help: "anonymous pages faulted back soon after eviction"},
	{Name: "workingset_refault_file", Unit: "page", Kind: Counter, Source: "workingset_refault_file", Help: "file pages read back soon after eviction"},
	{Name: "oom_kill", Kind: Counter, Source: "oom_kill", Better: Lower, Help: "processes killed for want of memory"},
}, Help: "from /proc/vmstat"}

// Pressure is /proc/pressure (Documentation/accounting/psi.rst), one row a resource.
var Pressure = Table{Name: "pressure", Version: 1, Device: "resource", NoTotal: []string{""}, Class: "pressure", Columns: []Column{
	{Name: "some_ns", Unit: "ns", Kind: Busy, Mul: 1000, Better: Lower, Sar: "%s{cpu,io,mem}", Help: "time in which at least one task waited for the resource"},
	{Name: "full_ns", Unit: "ns", Kind: Busy, Mul: 1000, Better: Lower, Sar: "%f{io,mem}", Help: "time in which all non-idle tasks waited; for cpu always 0 system-wide, null before Linux 5.13"},
	{Name: "some_avg10_pct", Unit: "%", Kind: Gauge, Div: 100, Better: Lower, Sar: "%s{cpu,io,mem}-10", Help: "the kernel's 10 s average of some"},
	{Name: "full_avg10_pct", Unit: "%", Kind: Gauge, Div: 100, Better: Lower, Sar: "%f{io,mem}-10", Help: "the kernel's 10 s average of full"},
}, Help: "per resource, from /proc/pressure"}

// Collector is the collector's own cost: one row for the process, one a source.
var Collector = Table{Name: "collector", Version: 1, Device: "part", NoTotal: []string{""}, PerEpoch: true, Sparse: true, Class: "collector", Columns: []Column{
	{Name: "cpu_ns", Unit: "ns", Kind: Busy, Help: "CPU time of the whole collecting process, user and system (row \"process\")"},
	{Name: "rss_bytes", Unit: "B", Kind: Gauge, Help: "resident memory of the process (row \"process\")"},
	{Name: "late_ns", Unit: "ns", Kind: Gauge, Help: "how long after it was due the tick began (row \"process\")"},
	{Name: "missed_ticks", Unit: "tick", Kind: Counter, Help: "ticks not taken since they could not begin within their second (row \"process\")"},
	{Name: "refused_ticks", Unit: "tick", Kind: Counter, Help: "ticks taken and lost since no more unacknowledged ones fit into memory (row \"process\")"},
	{Name: "unacked_bytes", Unit: "B", Kind: Gauge, Help: "encoded ticks that wait for the server's word (row \"process\")"},
	{Name: "sample_ns", Unit: "ns", Kind: Gauge, Help: "how long reading the source took (row of a source)"},
	{Name: "failed", Kind: Counter, Help: "readings of the source that failed (row of a source)"},
}, Help: "what measuring costs"}

// Workload is what the workload generator did in each interval.
var Workload = Table{Name: "workload", Version: 1, Typed: true, Class: "workload", Columns: []Column{
	{Name: "driver", Kind: Text, Help: "which driver made the row"},
	{Name: "unit", Kind: Text, Help: "what is counted: request, transaction, bit"},
	{Name: "operations", Kind: Amount, Float: true, Help: "successful operations in the interval; a tool that prints only a rate gives rate x interval"},
	{Name: "errors", Kind: Amount, Help: "failed operations in the interval"},
	{Name: "latency_mean_s", Unit: "s", Kind: Gauge, Float: true, Help: "mean latency of the interval's operations"},
	{Name: "latency_p50_s", Unit: "s", Kind: Gauge, Float: true, Help: "median latency of the interval"},
	{Name: "latency_p95_s", Unit: "s", Kind: Gauge, Float: true, Help: "95th percentile of the interval"},
	{Name: "latency_p99_s", Unit: "s", Kind: Gauge, Float: true, Help: "99th percentile of the interval"},
	{Name: "latency_max_s", Unit: "s", Kind: Gauge, Float: true, Help: "longest latency of the interval"},
	{Name: "latency_hist", Unit: "ns", Kind: Histogram, Help: "HdrHistogram of the interval, nanoseconds, compressed V2"},
}, Derived: []Metric{
	{Name: "throughput", Unit: "1/s", Better: Higher, Plus: []string{"operations"}, Help: "successful operations a second"},
	{Name: "error_pct", Unit: "%", Better: Lower, Factor: 100, Plus: []string{"errors"}, Per: []string{"operations", "errors"}, Help: "failed operations, of all"},
	{Name: "latency_mean", Unit: "s", Better: Lower, Plus: []string{"latency_mean_s"}, Per: []string{"operations"}, Help: "mean latency, weighted by operations"},
	{Name: "latency_p50", Unit: "s", Better: Lower, Plus: []string{"latency_hist"}, Quantile: 0.5, Help: "median of the merged histograms"},
	{Name: "latency_p90", Unit: "s", Better: Lower, Plus: []string{"latency_hist"}, Quantile: 0.9, Help: "90th percentile of the merged histograms"},
	{Name: "latency_p99", Unit: "s", Better: Lower, Plus: []string{"latency_hist"}, Quantile: 0.99, Help: "99th percentile of the merged histograms"},
	{Name: "latency_p99_9", Unit: "s", Better: Lower, Plus: []string{"latency_hist"}, Quantile: 0.999, Help: "99.9th percentile of the merged histograms; needs 10,000 operations"},
}, Help: "the load generator's own samples"}

// Summary is what exists once a run: a tool's own totals and percentiles.
var Summary = Table{Name: "summary", Version: 1, Typed: true, Class: "summary", Columns: []Column{
	{Name: "metric", Kind: Text, Help: "what the value is"},
	{Name: "phase", Kind: Text, Help: "the phase or part of the run it is about"},
	{Name: "value", Kind: Gauge, Float: true, Help: "the value, in unit"},
	{Name: "unit", Kind: Text, Help: "its unit"},
	{Name: "count", Kind: Amount, Help: "observations behind it"},
	{Name: "hist", Unit: "ns", Kind: Histogram, Help: "HdrHistogram behind it, compressed V2"},
	{Name: "source", Kind: Text, Help: "who says so"},
}, Help: "one row a metric and phase; never trimmed again"}

// Quality lists all that is not as it should be, so that nothing is lost by the
// conversion of readings to increments.
var Quality = Table{Name: "quality", Version: 1, Typed: true, Class: "quality", Columns: []Column{
	{Name: "table", Kind: Text, Help: "the table concerned"},
	{Name: "column", Kind: Text, Help: "the column concerned; empty for all"},
	{Name: "part", Kind: Text, Help: "the device concerned; empty for all"},
	{Name: "reason", Kind: Text, Help: "first, reset, retreat, hotplug, gap, large, clock-step, late, missed, failed, skipped, absent, nan, reboot"},
	{Name: "previous", Kind: Text, Help: "the reading before, decimal"},
	{Name: "current", Kind: Text, Help: "the reading itself, decimal"},
	{Name: "detail", Kind: Text, Help: "in words"},
}, Help: "every null, its reason and both readings"}
