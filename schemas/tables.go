package schemas

// Tables are all tables, in the order in which they are printed and written.
var Tables = []*Table{&CPU, &Memory, &Disk, &Net, &Load, &Paging, &Pressure,
	&Kernel, &Interrupts, &InterruptsCPU, &InterruptCells, &Softnet, &Serial, &Filesystem, &NetProto, &NetProto6, &Sockets, &NFSClient, &NFSServer, &Swap, &Sched, &Perf, &PerfEvent,
	&CPUFreq, &Temperature, &Fan, &Voltage, &Current, &Power, &Energy, &Battery, &NUMA, &HugePages, &USB, &FC, &InfiniBand, &EDAC, &Link, &Clock, &Cgroup, &Process,
	&Collector, &Workload, &Summary, &Output, &Quality}

// CPU is one logical CPU at one tick: the cpuN lines of /proc/stat (proc_stat(5)),
// in USER_HZ ticks since boot. The kernel's summary line is not kept: after a CPU
// went away it falls, the sum over CPUs with known increments does not.
//
// Guest time is part of user time, as to the kernel and to sar -u (%user); sar -u ALL
// takes it out (%usr), so that user_pct is %usr + %guest. sar -u counts interrupts and
// softirqs as system time (%system), which is kernel_pct here; system_pct is -u ALL's %sys.
var CPU = Table{Name: "cpu", Version: 2, Device: "cpu", Alike: true, Class: "cpu", Columns: []Column{
	{Name: "user_ticks", Unit: "tick", Kind: Share, Sar: "%user", Help: "user mode, guest time included"},
	{Name: "nice_ticks", Unit: "tick", Kind: Share, Sar: "%nice", Help: "user mode with low priority, guest_nice included"},
	{Name: "system_ticks", Unit: "tick", Kind: Share, Sar: "%sys", Help: "kernel mode, without interrupts and softirqs"},
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
		Sar:  "100 - %idle - %iowait - %steal", Help: "work done: all but idle, iowait and steal"},
	{Name: "kernel_pct", Unit: "%", Better: None, Factor: 100,
		Plus: []string{"system_ticks", "irq_ticks", "softirq_ticks"},
		Per:  []string{"user_ticks", "nice_ticks", "system_ticks", "idle_ticks", "iowait_ticks", "irq_ticks", "softirq_ticks", "steal_ticks"},
		Sar:  "%system", Help: "kernel mode, interrupts and softirqs included"},
}, Help: "per CPU, from /proc/stat"}

// Memory is /proc/meminfo (proc_meminfo(5)), its kB brought to bytes.
var Memory = Table{Name: "memory", Version: 2, Class: "memory", Columns: []Column{
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
	{Name: "memused_pct", Unit: "%", Better: Lower, Factor: 100, Plus: []string{"total_bytes"}, Minus: []string{"available_bytes"}, Per: []string{"total_bytes"},
		Sar: "%memused", Help: "used_bytes, of total_bytes"},
	{Name: "commit_pct", Unit: "%", Better: None, Factor: 100, Plus: []string{"committed_bytes"}, Per: []string{"total_bytes", "swap_total_bytes"},
		Sar: "%commit", Help: "promised to processes, of memory and swap space; may exceed 100"},
	{Name: "swap_used_bytes", Unit: "B", Better: Lower, Plus: []string{"swap_total_bytes"}, Minus: []string{"swap_free_bytes"},
		Sar: "kbswpused", Help: "swap space in use"},
	{Name: "swap_used_pct", Unit: "%", Better: Lower, Factor: 100, Plus: []string{"swap_total_bytes"}, Minus: []string{"swap_free_bytes"}, Per: []string{"swap_total_bytes"},
		Sar: "%swpused", Help: "swap space in use; unknown without any"},
	{Name: "huge_pages_used", Unit: "page", Better: None, Plus: []string{"huge_pages_total"}, Minus: []string{"huge_pages_free"},
		Help: "pages of the pool in use"},
	{Name: "huge_pages_used_pct", Unit: "%", Better: None, Factor: 100, Plus: []string{"huge_pages_total"}, Minus: []string{"huge_pages_free"}, Per: []string{"huge_pages_total"},
		Sar: "%hugused", Help: "pages of the pool in use; unknown without any"},
}, Help: "from /proc/meminfo"}

// Disk is one block device: /proc/diskstats (Documentation/admin-guide/iostats.rst),
// its 512-byte sectors brought to bytes and its milliseconds to nanoseconds.
// Partitions are left out: their whole device counts them.
var Disk = Table{Name: "disk", Version: 2, Device: "disk", Class: "disk",
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
		{Name: "tps", Unit: "1/s", Better: None, Plus: []string{"reads", "writes", "discards"}, Sar: "tps", Help: "reads, writes and discards completed a second"},
		{Name: "areq_bytes", Unit: "B", Better: None, Plus: []string{"read_bytes", "write_bytes", "discard_bytes"}, Per: []string{"reads", "writes", "discards"}, Sar: "areq-sz", Help: "mean size of a read, write or discard"},
		{Name: "await_s", Unit: "s", Better: Lower, Factor: 1e-9, Plus: []string{"read_ns", "write_ns", "discard_ns"}, Per: []string{"reads", "writes", "discards"}, Sar: "await", Help: "mean time of a read, write or discard, as sysstat counts since 12.0"},
		{Name: "queue_size", Better: None, Factor: 1e-9, Plus: []string{"weighted_io_ns"}, Sar: "aqu-sz", Help: "mean number of I/Os in the queue"},
	}, Help: "per block device, from /proc/diskstats"}

// Net is one network interface: /proc/net/dev (proc_pid_net(5)), and what bounds it:
// speed and duplex of /sys/class/net (Documentation/ABI/testing/sysfs-class-net).
var Net = Table{Name: "net", Version: 2, Device: "interface", Steps: true, Class: "net",
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
		{Name: "speed_bit_per_s", Unit: "bit/s", Kind: Gauge, Mul: 1e6, Source: "speed", Help: "the link's speed, null where the driver does not know it; read every 10 s and when the carrier changed"},
		{Name: "full_duplex", Kind: Gauge, Source: "duplex", Help: "1: full duplex, 0: half; read as the speed is"},
	}, Derived: []Metric{
		{Name: "rx_util_pct", Unit: "%", Better: None, Factor: 800, Plus: []string{"rx_bytes"}, Per: []string{"speed_bit_per_s"}, Help: "of the link's speed, received; sar's %ifutil is the larger of both, on half duplex their sum"},
		{Name: "tx_util_pct", Unit: "%", Better: None, Factor: 800, Plus: []string{"tx_bytes"}, Per: []string{"speed_bit_per_s"}, Help: "of the link's speed, sent"},
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
//
// Pages scanned and reclaimed are counted twice by the kernel, by who did it and by
// what they held; these are those by who did it. Before Linux 4.8 some were counted by
// zone, allocstall still is: the column is their sum.
var Paging = Table{Name: "paging", Version: 2, Class: "paging", Columns: []Column{
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
	{Name: "pgsteal_kswapd", Unit: "page", Kind: Counter, Source: "pgsteal_kswapd", Help: "pages reclaimed by kswapd"},
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
	{Name: "pgscan_proactive", Unit: "page", Kind: Counter, Source: "pgscan_proactive", Help: "pages scanned since user space asked for it; null on older kernels"},
	{Name: "pgsteal_proactive", Unit: "page", Kind: Counter, Source: "pgsteal_proactive", Help: "pages reclaimed since user space asked for it; null on older kernels"},
	{Name: "allocstall", Kind: Counter, Source: "allocstall", Better: Lower, Help: "allocations that had to reclaim memory themselves"},
	{Name: "pageoutrun", Kind: Counter, Source: "pageoutrun", Help: "times that kswapd ran"},
	{Name: "kswapd_low_wmark_hit_quickly", Kind: Counter, Source: "kswapd_low_wmark_hit_quickly", Help: "times that free memory fell below the low mark soon after kswapd"},
	{Name: "kswapd_high_wmark_hit_quickly", Kind: Counter, Source: "kswapd_high_wmark_hit_quickly", Help: "times that free memory fell below the high mark soon after kswapd"},
	{Name: "pginodesteal", Unit: "page", Kind: Counter, Source: "pginodesteal", Help: "pages reclaimed with their inodes by allocating tasks"},
	{Name: "kswapd_inodesteal", Unit: "page", Kind: Counter, Source: "kswapd_inodesteal", Help: "pages reclaimed with their inodes by kswapd"},
	{Name: "pgrotated", Unit: "page", Kind: Counter, Source: "pgrotated", Help: "pages moved to the end of the inactive list after write-back"},
	{Name: "drop_pagecache", Kind: Counter, Source: "drop_pagecache", Help: "times that somebody dropped the page cache"},
	{Name: "drop_slab", Kind: Counter, Source: "drop_slab", Help: "times that somebody dropped dentries and inodes"},
	{Name: "nr_dirtied", Unit: "page", Kind: Counter, Source: "nr_dirtied", Help: "pages made dirty"},
	{Name: "nr_written", Unit: "page", Kind: Counter, Source: "nr_written", Help: "pages written back"},
	{Name: "nr_dirty_threshold", Unit: "page", Kind: Gauge, Source: "nr_dirty_threshold", Help: "dirty pages at which writers are held back"},
	{Name: "nr_dirty_background_threshold", Unit: "page", Kind: Gauge, Source: "nr_dirty_background_threshold", Help: "dirty pages at which write-back begins"},
	{Name: "nr_vmscan_write", Unit: "page", Kind: Counter, Source: "nr_vmscan_write", Better: Lower, Help: "pages written by reclaim"},
	{Name: "nr_vmscan_immediate_reclaim", Unit: "page", Kind: Counter, Source: "nr_vmscan_immediate_reclaim", Help: "dirty pages that reclaim met and marked to be freed after write-back"},
	{Name: "workingset_activate_anon", Unit: "page", Kind: Counter, Source: "workingset_activate_anon", Help: "anonymous pages active at once when faulted back"},
	{Name: "workingset_activate_file", Unit: "page", Kind: Counter, Source: "workingset_activate_file", Help: "file pages active at once when read back"},
	{Name: "workingset_restore_anon", Unit: "page", Kind: Counter, Source: "workingset_restore_anon", Better: Lower, Help: "anonymous pages of the working set that were evicted and came back"},
	{Name: "workingset_restore_file", Unit: "page", Kind: Counter, Source: "workingset_restore_file", Better: Lower, Help: "file pages of the working set that were evicted and came back"},
	{Name: "compact_success", Kind: Counter, Source: "compact_success", Help: "compactions that made a large page free"},
	{Name: "compact_migrate_scanned", Unit: "page", Kind: Counter, Source: "compact_migrate_scanned", Help: "pages scanned to be moved"},
	{Name: "compact_free_scanned", Unit: "page", Kind: Counter, Source: "compact_free_scanned", Help: "pages scanned for a free place"},
	{Name: "compact_daemon_wake", Kind: Counter, Source: "compact_daemon_wake", Help: "times that kcompactd ran"},
	{Name: "pgmigrate_success", Unit: "page", Kind: Counter, Source: "pgmigrate_success", Help: "pages moved"},
	{Name: "pgmigrate_fail", Unit: "page", Kind: Counter, Source: "pgmigrate_fail", Help: "pages that could not be moved"},
	{Name: "thp_split_page", Kind: Counter, Source: "thp_split_page", Help: "huge pages split into small ones"},
	{Name: "thp_split_pmd", Kind: Counter, Source: "thp_split_pmd", Help: "mappings of huge pages split"},
	{Name: "thp_deferred_split_page", Kind: Counter, Source: "thp_deferred_split_page", Help: "huge pages put on the list to be split"},
	{Name: "thp_collapse_alloc_failed", Kind: Counter, Source: "thp_collapse_alloc_failed", Help: "huge pages that khugepaged could not allocate"},
	{Name: "thp_swpout", Kind: Counter, Source: "thp_swpout", Help: "huge pages swapped out whole"},
	{Name: "thp_swpout_fallback", Kind: Counter, Source: "thp_swpout_fallback", Help: "huge pages split to be swapped out"},
	{Name: "numa_hit", Unit: "page", Kind: Counter, Source: "numa_hit", Help: "pages allocated on the node that was wanted"},
	{Name: "numa_miss", Unit: "page", Kind: Counter, Source: "numa_miss", Better: Lower, Help: "pages allocated on a node though another was wanted"},
	{Name: "numa_local", Unit: "page", Kind: Counter, Source: "numa_local", Help: "pages allocated on the node of the task"},
	{Name: "numa_other", Unit: "page", Kind: Counter, Source: "numa_other", Help: "pages allocated on another node than the task's"},
	{Name: "numa_pte_updates", Kind: Counter, Source: "numa_pte_updates", Help: "page table entries that NUMA balancing made fault"},
	{Name: "numa_hint_faults_local", Kind: Counter, Source: "numa_hint_faults_local", Help: "NUMA balancing faults on the task's own node"},
	{Name: "pgpromote_success", Unit: "page", Kind: Counter, Source: "pgpromote_success", Sar: "pgprom/s", Help: "pages moved to a faster memory tier"},
	{Name: "pgdemote_kswapd", Unit: "page", Kind: Counter, Source: "pgdemote_kswapd", Help: "pages moved to a slower memory tier by kswapd"},
	{Name: "pgdemote_direct", Unit: "page", Kind: Counter, Source: "pgdemote_direct", Help: "pages moved to a slower memory tier by allocating tasks"},
	{Name: "pgdemote_khugepaged", Unit: "page", Kind: Counter, Source: "pgdemote_khugepaged", Help: "pages moved to a slower memory tier by khugepaged"},
	{Name: "swap_ra", Unit: "page", Kind: Counter, Source: "swap_ra", Help: "pages read ahead from swap"},
	{Name: "swap_ra_hit", Unit: "page", Kind: Counter, Source: "swap_ra_hit", Help: "pages read ahead from swap that were used"},
	{Name: "zswpin", Unit: "page", Kind: Counter, Source: "zswpin", Help: "pages taken back from zswap"},
	{Name: "zswpout", Unit: "page", Kind: Counter, Source: "zswpout", Help: "pages put into zswap"},
	{Name: "balloon_inflate", Unit: "page", Kind: Counter, Source: "balloon_inflate", Help: "pages given to the hypervisor"},
	{Name: "balloon_deflate", Unit: "page", Kind: Counter, Source: "balloon_deflate", Help: "pages taken back from the hypervisor"},
	{Name: "direct_map_level2_splits", Kind: Counter, Source: "direct_map_level2_splits", Help: "2 MiB mappings of kernel memory split"},
	{Name: "direct_map_level3_splits", Kind: Counter, Source: "direct_map_level3_splits", Help: "1 GiB mappings of kernel memory split"},
}, Derived: []Metric{
	{Name: "pgscan_per_s", Unit: "page/s", Better: None, Plus: []string{"pgscan_kswapd", "pgscan_direct", "pgscan_khugepaged", "pgscan_proactive"}, Help: "pages scanned by all"},
	{Name: "pgsteal_per_s", Unit: "page/s", Better: None, Plus: []string{"pgsteal_kswapd", "pgsteal_direct", "pgsteal_khugepaged", "pgsteal_proactive"}, Sar: "pgsteal/s", Help: "pages reclaimed by all"},
	{Name: "vmeff_pct", Unit: "%", Better: Higher, Factor: 100, Plus: []string{"pgsteal_kswapd", "pgsteal_direct", "pgsteal_khugepaged", "pgsteal_proactive"},
		Per: []string{"pgscan_kswapd", "pgscan_direct", "pgscan_khugepaged", "pgscan_proactive"}, Sar: "%vmeff", Help: "pages reclaimed, of those scanned; unknown while none are"},
}, Help: "from /proc/vmstat"}

// Pressure is /proc/pressure (Documentation/accounting/psi.rst), one row a resource.
var Pressure = Table{Name: "pressure", Version: 2, Device: "resource", NoTotal: []string{""}, Class: "pressure", Columns: []Column{
	{Name: "some_ns", Unit: "ns", Kind: Busy, Mul: 1000, Better: Lower, Sar: "%s{cpu,io,mem}", Help: "time in which at least one task waited for the resource"},
	{Name: "full_ns", Unit: "ns", Kind: Busy, Mul: 1000, Better: Lower, Sar: "%f{io,mem}", Help: "time in which all non-idle tasks waited; for cpu always 0 system-wide, null before Linux 5.13"},
	{Name: "some_avg10_pct", Unit: "%", Kind: Gauge, Div: 100, Better: Lower, Sar: "%s{cpu,io,mem}-10", Help: "the kernel's 10 s average of some"},
	{Name: "full_avg10_pct", Unit: "%", Kind: Gauge, Div: 100, Better: Lower, Sar: "%f{io,mem}-10", Help: "the kernel's 10 s average of full"},
}, Help: "per resource, from /proc/pressure"}

// Collector is the collector's own cost: one row for the process, one a source.
var Collector = Table{Name: "collector", Version: 2, Device: "part", NoTotal: []string{""}, PerEpoch: true, Sparse: true, Class: "collector", Columns: []Column{
	{Name: "cpu_ns", Unit: "ns", Kind: Busy, Help: "CPU time of the whole collecting process, user and system (row \"process\")"},
	{Name: "rss_bytes", Unit: "B", Kind: Gauge, Help: "resident memory of the process (row \"process\")"},
	{Name: "late_ns", Unit: "ns", Kind: Gauge, Help: "how long after it was due the tick began (row \"process\")"},
	{Name: "missed_ticks", Unit: "tick", Kind: Counter, Help: "ticks not taken since they could not begin within their second (row \"process\")"},
	{Name: "refused_ticks", Unit: "tick", Kind: Counter, Help: "ticks taken and lost since no more unacknowledged ones fit into log or memory (row \"process\")"},
	{Name: "unacked_bytes", Unit: "B", Kind: Gauge, Help: "encoded ticks that wait for the server's word (row \"process\")"},
	{Name: "log_bytes", Unit: "B", Kind: Gauge, Help: "size of the write-ahead log on this host's disk (row \"process\"); null without one"},
	{Name: "sample_ns", Unit: "ns", Kind: Gauge, Help: "how long reading the source took (row of a source)"},
	{Name: "failed", Kind: Counter, Help: "readings of the source that failed (row of a source)"},
}, Help: "what measuring costs"}

// Workload is what the workload generator did in each interval. A generator that does
// several things at once has a part of each; their sums would mean nothing.
var Workload = Table{Name: "workload", Version: 2, Typed: true, Device: "part", NoTotal: []string{""}, Class: "workload", Columns: []Column{
	{Name: "driver", Kind: Text, Help: "which driver or tool made the row"},
	{Name: "unit", Kind: Text, Help: "what is counted: request, transaction, event, bit"},
	{Name: "operations", Kind: Amount, Float: true, Help: "successful operations in the interval; a tool that prints only a rate gives rate x interval"},
	{Name: "errors", Kind: Amount, Help: "failed operations in the interval"},
	{Name: "latency_mean_s", Unit: "s", Kind: Gauge, Float: true, Help: "mean latency of the interval's operations"},
	{Name: "latency_p50_s", Unit: "s", Kind: Gauge, Float: true, Help: "median latency of the interval"},
	{Name: "latency_p90_s", Unit: "s", Kind: Gauge, Float: true, Help: "90th percentile of the interval"},
	{Name: "latency_p95_s", Unit: "s", Kind: Gauge, Float: true, Help: "95th percentile of the interval"},
	{Name: "latency_p99_s", Unit: "s", Kind: Gauge, Float: true, Help: "99th percentile of the interval"},
	{Name: "latency_p99_9_s", Unit: "s", Kind: Gauge, Float: true, Help: "99.9th percentile of the interval"},
	{Name: "latency_max_s", Unit: "s", Kind: Gauge, Float: true, Help: "longest latency of the interval"},
	{Name: "latency_hist", Unit: "ns", Kind: Histogram, Help: "HdrHistogram of the interval, nanoseconds, compressed V2"},
	{Name: "received_bytes", Unit: "B", Kind: Amount, Float: true, Help: "payload that the generator received in the interval"},
	{Name: "reads", Unit: "query", Kind: Amount, Float: true, Help: "reading queries of the interval's transactions"},
	{Name: "writes", Unit: "query", Kind: Amount, Float: true, Help: "writing queries"},
	{Name: "others", Unit: "query", Kind: Amount, Float: true, Help: "other queries: begin, commit"},
	{Name: "reconnects", Kind: Amount, Float: true, Help: "connections made again in the interval"},
	{Name: "queue", Kind: Gauge, Float: true, Help: "operations waiting to begin, of an open load"},
	{Name: "concurrency", Kind: Gauge, Float: true, Help: "operations in progress, of an open load"},
	{Name: "retransmits", Kind: Amount, Float: true, Help: "TCP segments sent again in the interval"},
	{Name: "packets", Kind: Amount, Float: true, Help: "datagrams sent and expected to arrive"},
	{Name: "lost", Kind: Amount, Float: true, Help: "of them, those that did not; negative where ones of an earlier interval came late"},
	{Name: "jitter_s", Unit: "s", Kind: Gauge, Float: true, Help: "RFC 1889 jitter of the datagrams"},
}, Derived: []Metric{
	{Name: "throughput", Unit: "1/s", Better: Higher, Plus: []string{"operations"}, Help: "successful operations a second"},
	{Name: "error_pct", Unit: "%", Better: Lower, Factor: 100, Plus: []string{"errors"}, Per: []string{"operations", "errors"}, Help: "failed operations, of all"},
	{Name: "latency_mean", Unit: "s", Better: Lower, Plus: []string{"latency_mean_s"}, Per: []string{"operations"}, Help: "mean latency, weighted by operations"},
	{Name: "latency_p50", Unit: "s", Better: Lower, Plus: []string{"latency_hist"}, Quantile: 0.5, Help: "median of the merged histograms"},
	{Name: "latency_p90", Unit: "s", Better: Lower, Plus: []string{"latency_hist"}, Quantile: 0.9, Help: "90th percentile of the merged histograms"},
	{Name: "latency_p99", Unit: "s", Better: Lower, Plus: []string{"latency_hist"}, Quantile: 0.99, Help: "99th percentile of the merged histograms"},
	{Name: "latency_p99_9", Unit: "s", Better: Lower, Plus: []string{"latency_hist"}, Quantile: 0.999, Help: "99.9th percentile of the merged histograms; needs 10,000 operations"},
	{Name: "received_bytes_per_s", Unit: "B/s", Better: Higher, Plus: []string{"received_bytes"}, Help: "payload received"},
	{Name: "queries_per_s", Unit: "1/s", Better: Higher, Plus: []string{"reads", "writes", "others"}, Help: "queries of all kinds"},
	{Name: "retransmits_per_s", Unit: "1/s", Better: Lower, Plus: []string{"retransmits"}, Help: "TCP segments sent again"},
	{Name: "loss_pct", Unit: "%", Better: Lower, Factor: 100, Plus: []string{"lost"}, Per: []string{"packets"}, Help: "datagrams lost: sums over sums, never a mean of percentages"},
	{Name: "jitter", Unit: "s", Better: Lower, Plus: []string{"jitter_s"}, Per: []string{"packets"}, Help: "jitter, weighted by datagrams"},
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

// Output is what tools printed, byte for byte, in pieces: the run folder has them as
// files in tool-output. Those of one name are joined in the order of their ticks.
var Output = Table{Name: "output", Version: 1, Typed: true, Files: true, Class: "output", Columns: []Column{
	{Name: "name", Kind: Text, Help: "the file's name, without folders"},
	{Name: "data", Kind: Blob, Help: "its next bytes"},
}, Help: "what tools printed; becomes files in tool-output"}

// OutputPiece is how large a piece of a file may be: small beside a server's limit.
const OutputPiece = 256 << 10

// OutputRows returns a file's rows, all stamped alike.
func OutputRows(wallNS, bootNS int64, name string, data []byte) []Row {
	var rows []Row
	for first := true; first || len(data) > 0; first = false {
		n := min(len(data), OutputPiece)
		r := NewRow(&Output, wallNS, bootNS, 0)
		r.SetText("name", name)
		r.SetBytes("data", data[:n])
		rows, data = append(rows, r), data[n:]
	}
	return rows
}

// Quality lists all that is not as it should be, so that nothing is lost by the
// conversion of readings to increments.
var Quality = Table{Name: "quality", Version: 1, Typed: true, Class: "quality", Columns: []Column{
	{Name: "table", Kind: Text, Help: "the table concerned"},
	{Name: "column", Kind: Text, Help: "the column concerned; empty for all"},
	{Name: "part", Kind: Text, Help: "the device concerned; empty for all"},
	{Name: "reason", Kind: Text, Help: "first, reset, retreat, hotplug, gap, large, clock-step, late, missed, failed, skipped, absent, nan, reboot, suspend, restart, clock-source, multiplexed, impossible, locale, repaired, coarse"},
	{Name: "previous", Kind: Text, Help: "the reading before, decimal"},
	{Name: "current", Kind: Text, Help: "the reading itself, decimal"},
	{Name: "detail", Kind: Text, Help: "in words"},
}, Help: "every null, its reason and both readings"}
