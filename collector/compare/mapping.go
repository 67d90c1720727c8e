package main

// activity is what sadf prints under one of sysstat's names.
type activity struct {
	name string
	// id is the field of a row that names its device ("CPU", "IFACE"); without one a
	// row is about the whole system, and is held against the total of ours.
	id string
	// all is the id of the row that stands for all devices, as a sum (or a mean).
	all  string
	mean bool
	// device is what all rows are about, where they don't say it.
	device  string
	columns []column
}

// column says what of ours one of sar's raw numbers is.
type column struct {
	sar  string // its name
	unit string // what sysstat counts in, the kernel's own unit
	// ours are columns of one of our tables, brought to unit; "" if there are none. See
	// parseExpr.
	ours string
	// why there is none of ours; or why the two may disagree all the same.
	why string
	// bits is 32 where sysstat keeps no more of a number of 64.
	bits int
	// level says that it is one that anybody may change at any time, and change back
	// between two readings: most of the readings must agree, not all.
	level bool
	// zero says that sysstat prints 0 also for what it does not know, where ours is null.
	zero bool
	// factor falsifies ours, for the tests.
	factor uint64
}

// Reasons that several columns share.
const (
	sensors = "sysstat numbers a chip's sensors in the order of libsensors and computes by sensors.conf(5); ours have the driver's names and numbers"
	shifted = "sysstat 12.6 reads ICMP's line of /proc/net/snmp by position: where the kernel has OutRateLimitGlobal and OutRateLimitHost in it, what follows is taken for the column two places on"
)

// activities are all that sysstat 12.6 and 12.7 know. The columns are those of
// sadf -r -- -A: raw numbers, before sar forms rates of them. What they count is said
// by sysstat's rd_stats.c and by sar(1).
var activities = []activity{
	{name: "A_CPU", id: "CPU", all: "-1", columns: []column{
		{sar: "%usr", unit: "tick", ours: "cpu.user_ticks - guest_ticks"},
		{sar: "%nice", unit: "tick", ours: "cpu.nice_ticks - guest_nice_ticks"},
		{sar: "%sys", unit: "tick", ours: "cpu.system_ticks"},
		{sar: "%iowait", unit: "tick", ours: "cpu.iowait_ticks"},
		{sar: "%steal", unit: "tick", ours: "cpu.steal_ticks"},
		{sar: "%irq", unit: "tick", ours: "cpu.irq_ticks"},
		{sar: "%soft", unit: "tick", ours: "cpu.softirq_ticks"},
		{sar: "%guest", unit: "tick", ours: "cpu.guest_ticks"},
		{sar: "%gnice", unit: "tick", ours: "cpu.guest_nice_ticks"},
		{sar: "%idle", unit: "tick", ours: "cpu.idle_ticks"},
	}},
	{name: "A_PCSW", columns: []column{
		{sar: "proc/s", unit: "task", ours: "kernel.forks"},
		{sar: "cswch/s", unit: "switch", ours: "kernel.context_switches"},
	}},
	// A row of sadf has one interrupt on all CPUs and on each; see splitInterrupts.
	{name: "A_IRQ", id: "interrupt", columns: []column{
		// The sum of the lines of /proc/interrupts; the kernel's own, in table kernel, leaves
		// some of them out.
		{sar: "sum", unit: "interrupt", ours: "interrupts_cpu.interrupts", bits: 32},
		{sar: "sum CPU", unit: "interrupt", ours: "interrupts_cpu.interrupts", bits: 32},
		{sar: "intr/s", unit: "interrupt", ours: "interrupts.count", bits: 32},
		{sar: "intr/s CPU", unit: "interrupt", ours: "interrupt_cells.count", bits: 32, zero: true},
	}},
	{name: "A_SWAP", columns: []column{
		{sar: "pswpin/s", unit: "page", ours: "paging.pswpin"},
		{sar: "pswpout/s", unit: "page", ours: "paging.pswpout"},
	}},
	{name: "A_PAGE", columns: []column{
		{sar: "pgpgin/s", unit: "KiB", ours: "paging.pgpgin_bytes / 1024"},
		{sar: "pgpgout/s", unit: "KiB", ours: "paging.pgpgout_bytes / 1024"},
		{sar: "fault/s", unit: "fault", ours: "paging.pgfault"},
		{sar: "majflt/s", unit: "fault", ours: "paging.pgmajfault"},
		{sar: "pgfree/s", unit: "page", ours: "paging.pgfree"},
		{sar: "pgscank/s", unit: "page", ours: "paging.pgscan_kswapd"},
		{sar: "pgscand/s", unit: "page", ours: "paging.pgscan_direct"},
		{sar: "pgsteal/s", unit: "page", ours: "paging.pgsteal_kswapd + pgsteal_direct + pgsteal_khugepaged + pgsteal_proactive",
			why: "sysstat adds up all that begins with pgsteal_: since Linux 5.8 each page twice, by who reclaimed it and by what it held"},
		// Later versions call them so.
		{sar: "pgprom/s", unit: "page", ours: "paging.pgpromote_success"},
		{sar: "pgdem/s", unit: "page", ours: "paging.pgdemote_kswapd + pgdemote_direct + pgdemote_khugepaged"},
	}},
	{name: "A_IO", columns: []column{
		{sar: "tps", unit: "I/O", ours: "disk.reads + writes + discards"},
		{sar: "rtps", unit: "I/O", ours: "disk.reads"},
		{sar: "wtps", unit: "I/O", ours: "disk.writes"},
		{sar: "dtps", unit: "I/O", ours: "disk.discards", zero: true},
		{sar: "bread/s", unit: "sector", ours: "disk.read_bytes / 512"},
		{sar: "bwrtn/s", unit: "sector", ours: "disk.write_bytes / 512"},
		{sar: "bdscd/s", unit: "sector", ours: "disk.discard_bytes / 512", zero: true},
	}},
	{name: "A_MEMORY", columns: []column{
		{sar: "kbmemfree", unit: "KiB", ours: "memory.free_bytes / 1024", level: true},
		{sar: "kbavail", unit: "KiB", ours: "memory.available_bytes / 1024", level: true, zero: true},
		{sar: "kbttlmem", unit: "KiB", ours: "memory.total_bytes / 1024"},
		{sar: "kbbuffers", unit: "KiB", ours: "memory.buffers_bytes / 1024", level: true},
		{sar: "kbcached", unit: "KiB", ours: "memory.cached_bytes / 1024", level: true},
		{sar: "kbcommit", unit: "KiB", ours: "memory.committed_bytes / 1024", level: true},
		{sar: "kbactive", unit: "KiB", ours: "memory.active_bytes / 1024", level: true},
		{sar: "kbinact", unit: "KiB", ours: "memory.inactive_bytes / 1024", level: true},
		{sar: "kbdirty", unit: "KiB", ours: "memory.dirty_bytes / 1024", level: true},
		{sar: "kbanonpg", unit: "KiB", ours: "memory.anon_bytes / 1024", level: true},
		{sar: "kbslab", unit: "KiB", ours: "memory.slab_bytes / 1024", level: true},
		{sar: "kbkstack", unit: "KiB", ours: "memory.kernel_stack_bytes / 1024", level: true},
		{sar: "kbpgtbl", unit: "KiB", ours: "memory.page_tables_bytes / 1024", level: true},
		{sar: "kbvmused", unit: "KiB", ours: "memory.vmalloc_used_bytes / 1024", level: true},
		{sar: "kbshmem", unit: "KiB", ours: "memory.shmem_bytes / 1024", level: true},
		{sar: "kbswpfree", unit: "KiB", ours: "memory.swap_free_bytes / 1024", level: true},
		{sar: "kbttlswp", unit: "KiB", ours: "memory.swap_total_bytes / 1024"},
		{sar: "kbswpcad", unit: "KiB", ours: "memory.swap_cached_bytes / 1024", level: true},
	}},
	{name: "A_HUGE", columns: []column{
		{sar: "kbhugfree", unit: "KiB", ours: "memory.huge_pages_free * huge_page_bytes / 1024"},
		{sar: "hugtotal", unit: "KiB", ours: "memory.huge_pages_total * huge_page_bytes / 1024"},
		{sar: "kbhugrsvd", unit: "KiB", ours: "memory.huge_pages_reserved * huge_page_bytes / 1024"},
		{sar: "kbhugsurp", unit: "KiB", ours: "memory.huge_pages_surplus * huge_page_bytes / 1024"},
	}},
	{name: "A_KTABLES", columns: []column{
		{sar: "dentunusd", unit: "dentry", ours: "kernel.dentries_unused", level: true},
		{sar: "file-nr", unit: "file", ours: "kernel.files", level: true},
		{sar: "inode-nr", unit: "inode", ours: "kernel.inodes", level: true},
		{sar: "pty-nr", unit: "pty", ours: "kernel.ptys", level: true},
	}},
	{name: "A_QUEUE", columns: []column{
		// sysstat leaves out the task that reads.
		{sar: "runq-sz", unit: "task", ours: "load.runq_sz - 1", why: "the tasks that run at that very moment, another number at each look"},
		{sar: "plist-sz", unit: "task", ours: "load.plist_sz", level: true},
		{sar: "ldavg-1", unit: "0.01", ours: "load.ldavg_1"},
		{sar: "ldavg-5", unit: "0.01", ours: "load.ldavg_5"},
		{sar: "ldavg-15", unit: "0.01", ours: "load.ldavg_15"},
		{sar: "blocked", unit: "task", ours: "load.blocked", level: true},
	}},
	{name: "A_SERIAL", id: "TTY", columns: []column{
		{sar: "rcvin/s", unit: "character", ours: "serial.rx", bits: 32},
		{sar: "xmtin/s", unit: "character", ours: "serial.tx", bits: 32},
		{sar: "framerr/s", unit: "error", ours: "serial.frame", bits: 32},
		{sar: "prtyerr/s", unit: "error", ours: "serial.parity", bits: 32},
		{sar: "brk/s", unit: "break", ours: "serial.breaks", bits: 32},
		{sar: "ovrun/s", unit: "error", ours: "serial.overruns", bits: 32},
	}},
	{name: "A_DISK", id: "DEV", columns: []column{
		{sar: "tps", unit: "I/O", ours: "disk.reads + writes + discards"},
		{sar: "rkB/s", unit: "sector", ours: "disk.read_bytes / 512"},
		{sar: "wkB/s", unit: "sector", ours: "disk.write_bytes / 512"},
		{sar: "dkB/s", unit: "sector", ours: "disk.discard_bytes / 512", zero: true},
		{sar: "rd_ticks", unit: "ms", ours: "disk.read_ns / 1000000"},
		{sar: "wr_ticks", unit: "ms", ours: "disk.write_ns / 1000000"},
		{sar: "dc_ticks", unit: "ms", ours: "disk.discard_ns / 1000000", zero: true},
		{sar: "tot_ticks", unit: "ms", ours: "disk.io_ns / 1000000"},
		{sar: "aqu-sz", unit: "ms", ours: "disk.weighted_io_ns / 1000000"},
	}},
	{name: "A_NET_DEV", id: "IFACE", columns: []column{
		{sar: "rxpck/s", unit: "packet", ours: "net.rx_packets"},
		{sar: "txpck/s", unit: "packet", ours: "net.tx_packets"},
		{sar: "rxkB/s", unit: "B", ours: "net.rx_bytes"},
		{sar: "txkB/s", unit: "B", ours: "net.tx_bytes"},
		{sar: "rxcmp/s", unit: "packet", ours: "net.rx_compressed"},
		{sar: "txcmp/s", unit: "packet", ours: "net.tx_compressed"},
		{sar: "rxmcst/s", unit: "packet", ours: "net.rx_multicast"},
		{sar: "speed", unit: "Mbit/s", ours: "net.speed_bit_per_s / 1000000", zero: true},
		{sar: "duplex", unit: "1 half, 2 full", ours: "net.full_duplex + 1", zero: true},
	}},
	{name: "A_NET_EDEV", id: "IFACE", columns: []column{
		{sar: "rxerr/s", unit: "packet", ours: "net.rx_errors"},
		{sar: "txerr/s", unit: "packet", ours: "net.tx_errors"},
		{sar: "coll/s", unit: "collision", ours: "net.tx_collisions"},
		{sar: "rxdrop/s", unit: "packet", ours: "net.rx_dropped"},
		{sar: "txdrop/s", unit: "packet", ours: "net.tx_dropped"},
		{sar: "txcarr/s", unit: "error", ours: "net.tx_carrier"},
		{sar: "rxfram/s", unit: "error", ours: "net.rx_frame"},
		{sar: "rxfifo/s", unit: "error", ours: "net.rx_fifo"},
		{sar: "txfifo/s", unit: "error", ours: "net.tx_fifo"},
	}},
	{name: "A_NET_NFS", columns: []column{
		{sar: "call/s", unit: "call", ours: "nfs_client.calls", bits: 32, zero: true},
		{sar: "retrans/s", unit: "call", ours: "nfs_client.retrans", bits: 32, zero: true},
		{sar: "read/s", unit: "call", ours: "nfs_client.read", bits: 32, zero: true},
		{sar: "write/s", unit: "call", ours: "nfs_client.write", bits: 32, zero: true},
		{sar: "access/s", unit: "call", ours: "nfs_client.access", bits: 32, zero: true},
		{sar: "getatt/s", unit: "call", ours: "nfs_client.getattr", bits: 32, zero: true},
	}},
	{name: "A_NET_NFSD", columns: []column{
		{sar: "scall/s", unit: "call", ours: "nfs_server.calls", bits: 32, zero: true},
		{sar: "badcall/s", unit: "call", ours: "nfs_server.bad_calls", bits: 32, zero: true},
		{sar: "packet/s", unit: "packet", ours: "nfs_server.packets", bits: 32, zero: true},
		{sar: "udp/s", unit: "packet", ours: "nfs_server.udp_packets", bits: 32, zero: true},
		{sar: "tcp/s", unit: "packet", ours: "nfs_server.tcp_packets", bits: 32, zero: true},
		{sar: "hit/s", unit: "call", ours: "nfs_server.cache_hits", bits: 32, zero: true},
		{sar: "miss/s", unit: "call", ours: "nfs_server.cache_misses", bits: 32, zero: true},
		{sar: "sread/s", unit: "call", ours: "nfs_server.read", bits: 32, zero: true},
		{sar: "swrite/s", unit: "call", ours: "nfs_server.write", bits: 32, zero: true},
		{sar: "saccess/s", unit: "call", ours: "nfs_server.access", bits: 32, zero: true},
		{sar: "sgetatt/s", unit: "call", ours: "nfs_server.getattr", bits: 32, zero: true},
	}},
	{name: "A_NET_SOCK", columns: []column{
		{sar: "totsck", unit: "socket", ours: "sockets.used", level: true},
		{sar: "tcpsck", unit: "socket", ours: "sockets.tcp_inuse", level: true},
		{sar: "udpsck", unit: "socket", ours: "sockets.udp_inuse", level: true},
		{sar: "rawsck", unit: "socket", ours: "sockets.raw_inuse", level: true},
		{sar: "ip-frag", unit: "datagram", ours: "sockets.frag_inuse", level: true},
		{sar: "tcp-tw", unit: "socket", ours: "sockets.tcp_tw", level: true},
	}},
	{name: "A_NET_IP", columns: []column{
		{sar: "irec/s", unit: "datagram", ours: "net_proto.ip_in_receives"},
		{sar: "fwddgm/s", unit: "datagram", ours: "net_proto.ip_forw_datagrams"},
		{sar: "idel/s", unit: "datagram", ours: "net_proto.ip_in_delivers"},
		{sar: "orq/s", unit: "datagram", ours: "net_proto.ip_out_requests"},
		{sar: "asmrq/s", unit: "fragment", ours: "net_proto.ip_reasm_reqds"},
		{sar: "asmok/s", unit: "datagram", ours: "net_proto.ip_reasm_oks"},
		{sar: "fragok/s", unit: "datagram", ours: "net_proto.ip_frag_oks"},
		{sar: "fragcrt/s", unit: "fragment", ours: "net_proto.ip_frag_creates"},
	}},
	{name: "A_NET_EIP", columns: []column{
		{sar: "ihdrerr/s", unit: "datagram", ours: "net_proto.ip_in_hdr_errors"},
		{sar: "iadrerr/s", unit: "datagram", ours: "net_proto.ip_in_addr_errors"},
		{sar: "iukwnpr/s", unit: "datagram", ours: "net_proto.ip_in_unknown_protos"},
		{sar: "idisc/s", unit: "datagram", ours: "net_proto.ip_in_discards"},
		{sar: "odisc/s", unit: "datagram", ours: "net_proto.ip_out_discards"},
		{sar: "onort/s", unit: "datagram", ours: "net_proto.ip_out_no_routes"},
		{sar: "asmf/s", unit: "failure", ours: "net_proto.ip_reasm_fails"},
		{sar: "fragf/s", unit: "datagram", ours: "net_proto.ip_frag_fails"},
	}},
	{name: "A_NET_ICMP", columns: []column{
		{sar: "imsg/s", unit: "message", ours: "net_proto.icmp_in_msgs"},
		{sar: "omsg/s", unit: "message", ours: "net_proto.icmp_out_msgs"},
		{sar: "iech/s", unit: "message", ours: "net_proto.icmp_in_echos"},
		{sar: "iechr/s", unit: "message", ours: "net_proto.icmp_in_echo_reps"},
		{sar: "oech/s", unit: "message", ours: "net_proto.icmp_out_echos", why: shifted},
		{sar: "oechr/s", unit: "message", ours: "net_proto.icmp_out_echo_reps", why: shifted},
		{sar: "itm/s", unit: "message", ours: "net_proto.icmp_in_timestamps"},
		{sar: "itmr/s", unit: "message", ours: "net_proto.icmp_in_timestamp_reps"},
		{sar: "otm/s", unit: "message", ours: "net_proto.icmp_out_timestamps", why: shifted},
		{sar: "otmr/s", unit: "message", ours: "net_proto.icmp_out_timestamp_reps", why: shifted},
		{sar: "iadrmk/s", unit: "message", ours: "net_proto.icmp_in_addr_masks"},
		{sar: "iadrmkr/s", unit: "message", ours: "net_proto.icmp_in_addr_mask_reps"},
		{sar: "oadrmk/s", unit: "message", ours: "net_proto.icmp_out_addr_masks", why: shifted},
		{sar: "oadrmkr/s", unit: "message", ours: "net_proto.icmp_out_addr_mask_reps", why: shifted},
	}},
	{name: "A_NET_EICMP", columns: []column{
		{sar: "ierr/s", unit: "message", ours: "net_proto.icmp_in_errors"},
		{sar: "oerr/s", unit: "message", ours: "net_proto.icmp_out_errors"},
		{sar: "idstunr/s", unit: "message", ours: "net_proto.icmp_in_dest_unreachs"},
		{sar: "odstunr/s", unit: "message", ours: "net_proto.icmp_out_dest_unreachs", why: shifted},
		{sar: "itmex/s", unit: "message", ours: "net_proto.icmp_in_time_excds"},
		{sar: "otmex/s", unit: "message", ours: "net_proto.icmp_out_time_excds", why: shifted},
		{sar: "iparmpb/s", unit: "message", ours: "net_proto.icmp_in_parm_probs"},
		{sar: "oparmpb/s", unit: "message", ours: "net_proto.icmp_out_parm_probs", why: shifted},
		{sar: "isrcq/s", unit: "message", ours: "net_proto.icmp_in_src_quenchs"},
		{sar: "osrcq/s", unit: "message", ours: "net_proto.icmp_out_src_quenchs", why: shifted},
		{sar: "iredir/s", unit: "message", ours: "net_proto.icmp_in_redirects"},
		{sar: "oredir/s", unit: "message", ours: "net_proto.icmp_out_redirects", why: shifted},
	}},
	{name: "A_NET_TCP", columns: []column{
		{sar: "active/s", unit: "connection", ours: "net_proto.tcp_active_opens"},
		{sar: "passive/s", unit: "connection", ours: "net_proto.tcp_passive_opens"},
		{sar: "iseg/s", unit: "segment", ours: "net_proto.tcp_in_segs"},
		{sar: "oseg/s", unit: "segment", ours: "net_proto.tcp_out_segs"},
	}},
	{name: "A_NET_ETCP", columns: []column{
		{sar: "atmptf/s", unit: "connection", ours: "net_proto.tcp_attempt_fails"},
		{sar: "estres/s", unit: "connection", ours: "net_proto.tcp_estab_resets"},
		{sar: "retrans/s", unit: "segment", ours: "net_proto.tcp_retrans_segs"},
		{sar: "isegerr/s", unit: "segment", ours: "net_proto.tcp_in_errs"},
		{sar: "orsts/s", unit: "segment", ours: "net_proto.tcp_out_rsts"},
	}},
	{name: "A_NET_UDP", columns: []column{
		{sar: "idgm/s", unit: "datagram", ours: "net_proto.udp_in_datagrams"},
		{sar: "odgm/s", unit: "datagram", ours: "net_proto.udp_out_datagrams"},
		{sar: "noport/s", unit: "datagram", ours: "net_proto.udp_no_ports"},
		{sar: "idgmerr/s", unit: "datagram", ours: "net_proto.udp_in_errors"},
	}},
	{name: "A_NET_SOCK6", columns: []column{
		{sar: "tcp6sck", unit: "socket", ours: "sockets.tcp6_inuse", level: true},
		{sar: "udp6sck", unit: "socket", ours: "sockets.udp6_inuse", level: true},
		{sar: "raw6sck", unit: "socket", ours: "sockets.raw6_inuse", level: true},
		{sar: "ip6-frag", unit: "datagram", ours: "sockets.frag6_inuse", level: true},
	}},
	{name: "A_NET_IP6", columns: []column{
		{sar: "irec6/s", unit: "datagram", ours: "net_proto6.ip6_in_receives"},
		{sar: "fwddgm6/s", unit: "datagram", ours: "net_proto6.ip6_out_forw_datagrams"},
		{sar: "idel6/s", unit: "datagram", ours: "net_proto6.ip6_in_delivers"},
		{sar: "orq6/s", unit: "datagram", ours: "net_proto6.ip6_out_requests"},
		{sar: "asmrq6/s", unit: "fragment", ours: "net_proto6.ip6_reasm_reqds"},
		{sar: "asmok6/s", unit: "datagram", ours: "net_proto6.ip6_reasm_oks"},
		{sar: "imcpck6/s", unit: "datagram", ours: "net_proto6.ip6_in_mcast_packets"},
		{sar: "omcpck6/s", unit: "datagram", ours: "net_proto6.ip6_out_mcast_packets"},
		{sar: "fragok6/s", unit: "datagram", ours: "net_proto6.ip6_frag_oks"},
		{sar: "fragcr6/s", unit: "fragment", ours: "net_proto6.ip6_frag_creates"},
	}},
	{name: "A_NET_EIP6", columns: []column{
		{sar: "ihdrer6/s", unit: "datagram", ours: "net_proto6.ip6_in_hdr_errors"},
		{sar: "iadrer6/s", unit: "datagram", ours: "net_proto6.ip6_in_addr_errors"},
		{sar: "iukwnp6/s", unit: "datagram", ours: "net_proto6.ip6_in_unknown_protos"},
		{sar: "i2big6/s", unit: "datagram", ours: "net_proto6.ip6_in_too_big_errors"},
		{sar: "idisc6/s", unit: "datagram", ours: "net_proto6.ip6_in_discards"},
		{sar: "odisc6/s", unit: "datagram", ours: "net_proto6.ip6_out_discards"},
		{sar: "inort6/s", unit: "datagram", ours: "net_proto6.ip6_in_no_routes"},
		{sar: "onort6/s", unit: "datagram", ours: "net_proto6.ip6_out_no_routes"},
		{sar: "asmf6/s", unit: "failure", ours: "net_proto6.ip6_reasm_fails"},
		{sar: "fragf6/s", unit: "datagram", ours: "net_proto6.ip6_frag_fails"},
		{sar: "itrpck6/s", unit: "datagram", ours: "net_proto6.ip6_in_truncated_packets"},
	}},
	{name: "A_NET_ICMP6", columns: []column{
		{sar: "imsg6/s", unit: "message", ours: "net_proto6.icmp6_in_msgs"},
		{sar: "omsg6/s", unit: "message", ours: "net_proto6.icmp6_out_msgs"},
		{sar: "iech6/s", unit: "message", ours: "net_proto6.icmp6_in_echos"},
		{sar: "iechr6/s", unit: "message", ours: "net_proto6.icmp6_in_echo_replies"},
		{sar: "oechr6/s", unit: "message", ours: "net_proto6.icmp6_out_echo_replies"},
		{sar: "igmbq6/s", unit: "message", ours: "net_proto6.icmp6_in_group_memb_queries"},
		{sar: "igmbr6/s", unit: "message", ours: "net_proto6.icmp6_in_group_memb_responses"},
		{sar: "ogmbr6/s", unit: "message", ours: "net_proto6.icmp6_out_group_memb_responses"},
		{sar: "igmbrd6/s", unit: "message", ours: "net_proto6.icmp6_in_group_memb_reductions"},
		{sar: "ogmbrd6/s", unit: "message", ours: "net_proto6.icmp6_out_group_memb_reductions"},
		{sar: "irtsol6/s", unit: "message", ours: "net_proto6.icmp6_in_router_solicits"},
		{sar: "ortsol6/s", unit: "message", ours: "net_proto6.icmp6_out_router_solicits"},
		{sar: "irtad6/s", unit: "message", ours: "net_proto6.icmp6_in_router_advertisements"},
		{sar: "inbsol6/s", unit: "message", ours: "net_proto6.icmp6_in_neighbor_solicits"},
		{sar: "onbsol6/s", unit: "message", ours: "net_proto6.icmp6_out_neighbor_solicits"},
		{sar: "inbad6/s", unit: "message", ours: "net_proto6.icmp6_in_neighbor_advertisements"},
		{sar: "onbad6/s", unit: "message", ours: "net_proto6.icmp6_out_neighbor_advertisements"},
	}},
	{name: "A_NET_EICMP6", columns: []column{
		{sar: "ierr6/s", unit: "message", ours: "net_proto6.icmp6_in_errors"},
		{sar: "idtunr6/s", unit: "message", ours: "net_proto6.icmp6_in_dest_unreachs"},
		{sar: "odtunr6/s", unit: "message", ours: "net_proto6.icmp6_out_dest_unreachs"},
		{sar: "itmex6/s", unit: "message", ours: "net_proto6.icmp6_in_time_excds"},
		{sar: "otmex6/s", unit: "message", ours: "net_proto6.icmp6_out_time_excds"},
		{sar: "iprmpb6/s", unit: "message", ours: "net_proto6.icmp6_in_parm_problems"},
		{sar: "oprmpb6/s", unit: "message", ours: "net_proto6.icmp6_out_parm_problems"},
		{sar: "iredir6/s", unit: "message", ours: "net_proto6.icmp6_in_redirects"},
		{sar: "oredir6/s", unit: "message", ours: "net_proto6.icmp6_out_redirects"},
		{sar: "ipck2b6/s", unit: "message", ours: "net_proto6.icmp6_in_pkt_too_bigs"},
		{sar: "opck2b6/s", unit: "message", ours: "net_proto6.icmp6_out_pkt_too_bigs"},
	}},
	{name: "A_NET_UDP6", columns: []column{
		{sar: "idgm6/s", unit: "datagram", ours: "net_proto6.udp6_in_datagrams"},
		{sar: "odgm6/s", unit: "datagram", ours: "net_proto6.udp6_out_datagrams"},
		{sar: "noport6/s", unit: "datagram", ours: "net_proto6.udp6_no_ports"},
		{sar: "idgmer6/s", unit: "datagram", ours: "net_proto6.udp6_in_errors"},
	}},
	{name: "A_NET_SOFT", id: "CPU", all: "-1", columns: []column{
		{sar: "total/s", unit: "packet", ours: "softnet.total", bits: 32},
		{sar: "dropd/s", unit: "packet", ours: "softnet.dropped", bits: 32},
		{sar: "squeezd/s", unit: "poll", ours: "softnet.squeezed", bits: 32},
		{sar: "rx_rps/s", unit: "interrupt", ours: "softnet.received_rps", bits: 32, zero: true},
		{sar: "flw_lim/s", unit: "packet", ours: "softnet.flow_limit", bits: 32, zero: true},
		{sar: "blg_len", unit: "packet", ours: "softnet.backlog_len", level: true, zero: true},
	}},
	{name: "A_NET_FC", id: "FCHOST", columns: []column{
		{sar: "fch_rxf/s", unit: "frame", ours: "fc.rx_frames"},
		{sar: "fch_txf/s", unit: "frame", ours: "fc.tx_frames"},
		{sar: "fch_rxw/s", unit: "word", ours: "fc.rx_words"},
		{sar: "fch_txw/s", unit: "word", ours: "fc.tx_words"},
	}},
	{name: "A_PWR_CPU", id: "CPU", all: "-1", mean: true, columns: []column{
		{sar: "MHz", unit: "0.01 MHz", ours: "cpufreq.cur_hz / 10000", level: true},
	}},
	{name: "A_PWR_WGHFREQ", id: "CPU", all: "-1", columns: []column{
		{sar: "freq", why: "the frequencies that the driver knows, a name of what follows; ours are weighted by them on reading (cpufreq.stat_cycles)"},
		{sar: "tminst", unit: "tick", ours: "cpufreq.stat_ticks"},
	}},
	{name: "A_PWR_FAN", id: "FAN", columns: []column{{sar: "rpm", why: sensors}, {sar: "rpm_min", why: sensors}}},
	{name: "A_PWR_TEMP", id: "TEMP", columns: []column{{sar: "degC", why: sensors}, {sar: "temp_min", why: sensors}, {sar: "temp_max", why: sensors}}},
	{name: "A_PWR_IN", id: "IN", columns: []column{{sar: "inV", why: sensors}, {sar: "in_min", why: sensors}, {sar: "in_max", why: sensors}}},
	{name: "A_PWR_BAT", id: "BAT", columns: []column{
		{sar: "%cap", unit: "%", why: "sysstat numbers batteries; ours have the kernel's names (battery.capacity_pct)"},
		{sar: "status", why: "sysstat's own number of a state; ours says whether the host runs on the battery (battery.discharging)"},
	}},
	{name: "A_PWR_USB", id: "product", columns: []column{
		{sar: "maxpower", why: "sysstat names a device by its product, which several may share; ours by bus and port (usb.max_power_a)"},
	}},
	{name: "A_FS", id: "MOUNTPOINT", columns: []column{
		{sar: "f_bfree", unit: "B", ours: "filesystem.free_bytes", level: true},
		{sar: "f_blocks", unit: "B", ours: "filesystem.size_bytes"},
		{sar: "f_bavail", unit: "B", ours: "filesystem.available_bytes", level: true},
		{sar: "Ifree", unit: "inode", ours: "filesystem.inodes_free", level: true, zero: true},
		{sar: "f_files", unit: "inode", ours: "filesystem.inodes", zero: true},
	}},
	{name: "A_PSI_CPU", device: "cpu", columns: pressure("cpu", "some")},
	{name: "A_PSI_IO", device: "io", columns: pressure("io", "some", "full")},
	{name: "A_PSI_MEM", device: "memory", columns: pressure("mem", "some", "full")},
}

// pressure returns the columns of one resource: "%scpu-10", ..., "%fmem".
func pressure(resource string, kinds ...string) []column {
	const none = "the kernel's averages over 60 and 300 s are formed of the total, which ours has"
	var out []column
	for _, k := range kinds {
		sar := "%" + k[:1] + resource
		out = append(out,
			column{sar: sar + "-10", unit: "0.01 %", ours: "pressure." + k + "_avg10_pct"},
			column{sar: sar + "-60", unit: "0.01 %", why: none},
			column{sar: sar + "-300", unit: "0.01 %", why: none},
			column{sar: sar, unit: "us", ours: "pressure." + k + "_ns / 1000"})
	}
	return out
}
