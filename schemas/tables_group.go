package schemas

// Cgroup is one control group, by its path below the hierarchy's root ("/" is the root
// itself): cgroup v2 (Documentation/admin-guide/cgroup-v2.rst) and v1
// (Documentation/admin-guide/cgroup-v1/), brought to one set of names. A group's
// numbers hold those of the groups below it, so there is no total over groups: their
// common parent has it.
//
// A group that was removed and made again under the same path begins anew: see the
// reason "restart" in table quality.
var Cgroup = Table{Name: "cgroup", Version: 1, Device: "group", NoTotal: []string{""}, Sparse: true, Class: "cgroup", Columns: []Column{
	{Name: "cpu_ns", Unit: "ns", Kind: Busy, Better: Lower, Help: "CPU time; 100 % is one CPU (v2 cpu.stat usage_usec, v1 cpuacct.usage)"},
	{Name: "user_ns", Unit: "ns", Kind: Busy, Help: "CPU time in user mode (v2 cpu.stat user_usec, v1 cpuacct.stat, in steps of 10 ms)"},
	{Name: "system_ns", Unit: "ns", Kind: Busy, Help: "CPU time in kernel mode (v2 cpu.stat system_usec, v1 cpuacct.stat, in steps of 10 ms)"},
	{Name: "nr_periods", Kind: Counter, Help: "periods of the CPU limit that ran (cpu.stat)"},
	{Name: "nr_throttled", Kind: Counter, Better: Lower, Help: "periods in which the group had used up its CPU limit (cpu.stat)"},
	{Name: "throttled_ns", Unit: "ns", Kind: Busy, Better: Lower, Help: "time that it then had to wait, added up over CPUs (v2 cpu.stat throttled_usec, v1 throttled_time)"},
	{Name: "memory_bytes", Unit: "B", Kind: Gauge, Better: Lower, Help: "memory charged (v2 memory.current, v1 memory.usage_in_bytes)"},
	{Name: "anon_bytes", Unit: "B", Kind: Gauge, Better: Lower, Help: "anonymous memory (memory.stat: v2 anon, v1 total_rss)"},
	{Name: "file_bytes", Unit: "B", Kind: Gauge, Help: "page cache, shared memory included (memory.stat: v2 file, v1 total_cache)"},
	{Name: "shmem_bytes", Unit: "B", Kind: Gauge, Help: "shared memory and tmpfs, already in file_bytes (memory.stat: v2 shmem, v1 total_shmem)"},
	{Name: "kernel_bytes", Unit: "B", Kind: Gauge, Help: "kernel memory, slab included (v2 memory.stat kernel, null before Linux 5.18; v1 memory.kmem.usage_in_bytes)"},
	{Name: "slab_bytes", Unit: "B", Kind: Gauge, Help: "the kernel's data structures (v2 memory.stat slab; null on v1)"},
	{Name: "sock_bytes", Unit: "B", Kind: Gauge, Help: "network buffers (v2 memory.stat sock; null on v1)"},
	{Name: "swap_bytes", Unit: "B", Kind: Gauge, Better: Lower, Help: "swapped out (v2 memory.swap.current, v1 memory.stat total_swap)"},
	{Name: "memory_peak_bytes", Unit: "B", Kind: Gauge, Help: "highest memory_bytes since the group was made (v2 memory.peak, null before Linux 5.19; v1 memory.max_usage_in_bytes)"},
	{Name: "memory_limit_bytes", Unit: "B", Kind: Gauge, Help: "the group's own limit, null for none (v2 memory.max, v1 memory.limit_in_bytes)"},
	{Name: "pgfault", Unit: "page", Kind: Counter, Help: "page faults (memory.stat: v2 pgfault, v1 total_pgfault)"},
	{Name: "pgmajfault", Unit: "page", Kind: Counter, Better: Lower, Help: "faults that needed a read from disk (memory.stat: v2 pgmajfault, v1 total_pgmajfault)"},
	{Name: "oom", Kind: Counter, Better: Lower, Help: "times that the limit was reached and nothing could be reclaimed (v2 memory.events; null on v1)"},
	{Name: "oom_kill", Kind: Counter, Better: Lower, Help: "processes killed for want of memory (v2 memory.events; v1 memory.oom_control, the group's own, without those below)"},
	{Name: "read_bytes", Unit: "B", Kind: Counter, Help: "bytes read from block devices: of stacked ones the topmost, without loop and RAM disks (v2 io.stat, v1 blkio.throttle.io_service_bytes)"},
	{Name: "reads", Kind: Counter, Help: "reads, counted alike (v2 io.stat, v1 blkio.throttle.io_serviced)"},
	{Name: "write_bytes", Unit: "B", Kind: Counter, Help: "bytes written, counted alike; on v1 without what the kernel writes back from the page cache"},
	{Name: "writes", Kind: Counter, Help: "writes, counted alike"},
	{Name: "discard_bytes", Unit: "B", Kind: Counter, Help: "bytes discarded, counted alike"},
	{Name: "discards", Kind: Counter, Help: "discards, counted alike"},
	{Name: "pids", Unit: "task", Kind: Gauge, Help: "tasks, threads included (pids.current)"},
	{Name: "cpu_some_ns", Unit: "ns", Kind: Busy, Better: Lower, Help: "time in which at least one task waited for a CPU (cpu.pressure; null on v1)"},
	{Name: "cpu_full_ns", Unit: "ns", Kind: Busy, Better: Lower, Help: "time in which all non-idle tasks did (cpu.pressure; null before Linux 5.13)"},
	{Name: "memory_some_ns", Unit: "ns", Kind: Busy, Better: Lower, Help: "time in which at least one task waited for memory (memory.pressure)"},
	{Name: "memory_full_ns", Unit: "ns", Kind: Busy, Better: Lower, Help: "time in which all non-idle tasks did (memory.pressure)"},
	{Name: "io_some_ns", Unit: "ns", Kind: Busy, Better: Lower, Help: "time in which at least one task waited for I/O (io.pressure)"},
	{Name: "io_full_ns", Unit: "ns", Kind: Busy, Better: Lower, Help: "time in which all non-idle tasks did (io.pressure)"},
}, Derived: []Metric{
	{Name: "throttled_periods_pct", Unit: "%", Better: Lower, Factor: 100, Plus: []string{"nr_throttled"}, Per: []string{"nr_periods"}, Help: "periods in which the CPU limit was used up, of all"},
}, Help: "per control group chosen, v1 or v2"}

// Process is the processes that a selector chooses, added up, or one process
// (proc_pid_stat(5), proc_pid_status(5), proc_pid_io(5);
// Documentation/scheduler/sched-stats.rst). Counters begin when the collector first
// saw the process; of one that began while it ran they have everything but what came
// after the last tick that the process lived to see. A process that lived between two
// ticks was not seen. Selectors may overlap, so there is no total.
var Process = Table{Name: "process", Version: 1, Device: "process", NoTotal: []string{""}, PerEpoch: true, Sparse: true, Class: "process", Columns: []Column{
	{Name: "user_ns", Unit: "ns", Kind: Busy, Sar: "%usr", Help: "CPU time in user mode, guest time included, in steps of 10 ms; 100 % is one CPU"},
	{Name: "system_ns", Unit: "ns", Kind: Busy, Sar: "%system", Help: "CPU time in kernel mode, in steps of 10 ms"},
	{Name: "run_ns", Unit: "ns", Kind: Busy, Help: "time on a CPU, exactly, added up over threads; of a thread that ended without its last part (schedstat)"},
	{Name: "run_delay_ns", Unit: "ns", Kind: Busy, Better: Lower, Sar: "%wait", Help: "time that threads could have run and waited for a CPU, counted alike (schedstat)"},
	{Name: "minflt", Unit: "page", Kind: Counter, Sar: "minflt/s", Help: "page faults that needed no read from disk"},
	{Name: "majflt", Unit: "page", Kind: Counter, Better: Lower, Sar: "majflt/s", Help: "page faults that did"},
	{Name: "cswch", Kind: Counter, Sar: "cswch/s", Help: "voluntary context switches: a thread had to wait for something; counted as run_ns is"},
	{Name: "nvcswch", Kind: Counter, Better: Lower, Sar: "nvcswch/s", Help: "involuntary context switches: another thread got the CPU; counted as run_ns is"},
	{Name: "read_bytes", Unit: "B", Kind: Counter, Sar: "kB_rd/s", Help: "bytes read from storage"},
	{Name: "write_bytes", Unit: "B", Kind: Counter, Sar: "kB_wr/s", Help: "bytes written to storage, counted when the page was made dirty"},
	{Name: "rchar_bytes", Unit: "B", Kind: Counter, Help: "bytes that read calls returned, from the page cache and pipes too"},
	{Name: "wchar_bytes", Unit: "B", Kind: Counter, Help: "bytes that write calls took"},
	{Name: "syscr", Kind: Counter, Help: "read calls"},
	{Name: "syscw", Kind: Counter, Help: "write calls"},
	{Name: "rss_bytes", Unit: "B", Kind: Gauge, Better: Lower, Sar: "RSS", Help: "resident memory; a page that processes share counts for each of them"},
	{Name: "anon_bytes", Unit: "B", Kind: Gauge, Better: Lower, Help: "resident anonymous memory; null before Linux 4.5"},
	{Name: "file_bytes", Unit: "B", Kind: Gauge, Help: "resident file mappings; null before Linux 4.5"},
	{Name: "shmem_bytes", Unit: "B", Kind: Gauge, Help: "resident shared memory; null before Linux 4.5"},
	{Name: "swap_bytes", Unit: "B", Kind: Gauge, Better: Lower, Help: "anonymous memory swapped out"},
	{Name: "processes", Unit: "task", Kind: Gauge, Help: "processes chosen, zombies too"},
	{Name: "threads", Unit: "task", Kind: Gauge, Sar: "threads", Help: "their threads"},
	{Name: "fds", Kind: Gauge, Sar: "fd-nr", Help: "their open file descriptors; null unless asked for"},
}, Derived: []Metric{
	{Name: "cpu_pct", Unit: "%", Better: Lower, Factor: 100e-9, Plus: []string{"user_ns", "system_ns"}, Sar: "%CPU", Help: "CPU time in user and kernel mode; 100 % is one CPU"},
}, Help: "per group of processes chosen, or per process, from /proc/PID"}
