package schemas

// The tables of a host's hardware, from /sys and adjtimex(2). They are sparse: a sensor
// has the limits that its chip has, and which of them a host shows is no news.

// CPUFreq is one logical CPU's clock (Documentation/admin-guide/pm/cpufreq.rst) and how
// often the hardware held it back (Documentation/ABI/testing/sysfs-devices-system-cpu).
// What belongs to a core or a package is on the row of its first CPU, so that totals
// count it once.
var CPUFreq = Table{Name: "cpufreq", Version: 1, Device: "cpu", Sparse: true, Alike: true, Class: "cpufreq", Columns: []Column{
	{Name: "cur_hz", Unit: "Hz", Kind: Gauge, Mul: 1000, Sar: "MHz", Help: "the clock now: scaling_cur_freq, or cpu MHz of /proc/cpuinfo where the host's list of what is absent says so; a total is the sum over CPUs"},
	{Name: "min_hz", Unit: "Hz", Kind: Gauge, Mul: 1000, Help: "the policy's lower limit; read every 10 s"},
	{Name: "max_hz", Unit: "Hz", Kind: Gauge, Mul: 1000, Help: "the policy's upper limit; read every 10 s"},
	{Name: "stat_cycles", Unit: "cycle", Kind: Counter, Mul: 10, Help: "frequency times time, summed over the lines of cpufreq/stats/time_in_state; null where the driver keeps no statistics"},
	{Name: "stat_ticks", Unit: "tick", Kind: Counter, Help: "time, summed over the same lines"},
	{Name: "core_throttles", Kind: Counter, Better: Lower, Help: "times that the core was slowed for its temperature; row of the core's first CPU"},
	{Name: "core_throttle_ns", Unit: "ns", Kind: Busy, Mul: 1e6, Better: Lower, Help: "time that the core was slowed for its temperature; null before Linux 5.6"},
	{Name: "package_throttles", Kind: Counter, Better: Lower, Help: "times that the package was slowed for its temperature; row of the package's first CPU"},
	{Name: "package_throttle_ns", Unit: "ns", Kind: Busy, Mul: 1e6, Better: Lower, Help: "time that the package was slowed for its temperature; null before Linux 5.6"},
}, Derived: []Metric{
	{Name: "weighted_hz", Unit: "Hz", Better: None, Factor: 100, Plus: []string{"stat_cycles"}, Per: []string{"stat_ticks"}, Sar: "wghMHz", Help: "mean clock over the window, each frequency weighted by the time spent at it (100 ticks a second)"},
}, Help: "per CPU, from /sys/devices/system/cpu"}

// Temperature is a temperature sensor (Documentation/hwmon/sysfs-interface.rst) or a
// thermal zone (Documentation/driver-api/thermal/sysfs-api.rst).
var Temperature = Table{Name: "temperature", Version: 1, Device: "sensor", Sparse: true, NoTotal: []string{""}, Class: "temperature", Columns: []Column{
	{Name: "temp_degc", Unit: "degC", Kind: Gauge, Source: "input", Div: 1000, Sar: "degC", Help: "degrees Celsius"},
	{Name: "min_degc", Unit: "degC", Kind: Gauge, Source: "min", Div: 1000, Help: "lower limit; read every 10 s"},
	{Name: "max_degc", Unit: "degC", Kind: Gauge, Source: "max", Div: 1000, Help: "upper limit; read every 10 s"},
	{Name: "crit_degc", Unit: "degC", Kind: Gauge, Source: "crit", Div: 1000, Help: "critical limit, or a zone's critical trip point; read every 10 s"},
}, Help: "per sensor (chip/label) and thermal zone (thermal/type)"}

// Fan is a fan's tachometer.
var Fan = Table{Name: "fan", Version: 1, Device: "sensor", Sparse: true, NoTotal: []string{""}, Class: "fan", Columns: []Column{
	{Name: "rpm", Unit: "rpm", Kind: Gauge, Source: "input", Sar: "rpm", Help: "revolutions per minute"},
	{Name: "min_rpm", Unit: "rpm", Kind: Gauge, Source: "min", Help: "lower limit; read every 10 s"},
	{Name: "max_rpm", Unit: "rpm", Kind: Gauge, Source: "max", Help: "upper limit; read every 10 s"},
}, Derived: []Metric{
	{Name: "above_min_rpm", Unit: "rpm", Better: None, Plus: []string{"rpm"}, Minus: []string{"min_rpm"}, Sar: "drpm", Help: "speed above the lower limit"},
}, Help: "per fan (chip/label)"}

// Voltage is a voltage input, as the driver gives it: the board's dividers, which
// sensors.conf(5) may know, are not applied.
var Voltage = Table{Name: "voltage", Version: 1, Device: "sensor", Sparse: true, NoTotal: []string{""}, Class: "voltage", Columns: []Column{
	{Name: "in_v", Unit: "V", Kind: Gauge, Source: "input", Div: 1000, Sar: "inV", Help: "volts at the chip's pin"},
	{Name: "min_v", Unit: "V", Kind: Gauge, Source: "min", Div: 1000, Help: "lower limit; read every 10 s"},
	{Name: "max_v", Unit: "V", Kind: Gauge, Source: "max", Div: 1000, Help: "upper limit; read every 10 s"},
	{Name: "crit_v", Unit: "V", Kind: Gauge, Source: "crit", Div: 1000, Help: "critical upper limit; read every 10 s"},
}, Help: "per voltage input (chip/label)"}

// Current is a current input.
var Current = Table{Name: "current", Version: 1, Device: "sensor", Sparse: true, NoTotal: []string{""}, Class: "current", Columns: []Column{
	{Name: "current_a", Unit: "A", Kind: Gauge, Source: "input", Div: 1000, Help: "amperes"},
	{Name: "min_a", Unit: "A", Kind: Gauge, Source: "min", Div: 1000, Help: "lower limit; read every 10 s"},
	{Name: "max_a", Unit: "A", Kind: Gauge, Source: "max", Div: 1000, Help: "upper limit; read every 10 s"},
	{Name: "crit_a", Unit: "A", Kind: Gauge, Source: "crit", Div: 1000, Help: "critical upper limit; read every 10 s"},
}, Help: "per current input (chip/label)"}

// Power is a power meter. Meters overlap (a supply's contains the processors'), so they
// have no total.
var Power = Table{Name: "power", Version: 1, Device: "sensor", Sparse: true, NoTotal: []string{""}, Class: "power", Columns: []Column{
	{Name: "power_w", Unit: "W", Kind: Gauge, Source: "input", Div: 1e6, Better: Lower, Help: "watts now"},
	{Name: "average_w", Unit: "W", Kind: Gauge, Source: "average", Div: 1e6, Better: Lower, Help: "the meter's own average, over its power*_average_interval"},
	{Name: "cap_w", Unit: "W", Kind: Gauge, Source: "cap", Div: 1e6, Help: "limit that the hardware holds; read every 10 s"},
	{Name: "max_w", Unit: "W", Kind: Gauge, Source: "max", Div: 1e6, Help: "upper limit; read every 10 s"},
	{Name: "crit_w", Unit: "W", Kind: Gauge, Source: "crit", Div: 1e6, Help: "critical limit; read every 10 s"},
}, Help: "per power meter (chip/label)"}

// Energy is an energy counter: RAPL and other domains of /sys/class/powercap
// (Documentation/power/powercap/powercap.rst) and hwmon's energy inputs. The kernel's
// counters wrap, those of DRAM within minutes; the collector adds them up from its start.
// Domains contain one another (package-0 has package-0/core), so they have no total.
var Energy = Table{Name: "energy", Version: 1, Device: "domain", PerEpoch: true, Sparse: true, NoTotal: []string{""}, Class: "energy", Columns: []Column{
	{Name: "energy_uj", Unit: "uJ", Kind: Counter, Source: "input", Better: Lower, Help: "microjoules since the collector's start"},
}, Derived: []Metric{
	{Name: "power_w", Unit: "W", Better: Lower, Factor: 1e-6, Plus: []string{"energy_uj"}, Help: "mean power over the window, watts"},
}, Help: "per energy domain (package-0/dram) or energy input (chip/label)"}

// Battery is a battery or UPS of the host (Documentation/ABI/testing/sysfs-class-power).
var Battery = Table{Name: "battery", Version: 1, Device: "battery", Sparse: true, NoTotal: []string{""}, Class: "battery", Columns: []Column{
	{Name: "capacity_pct", Unit: "%", Kind: Gauge, Source: "capacity", Sar: "%cap", Help: "charge, of full"},
	{Name: "energy_j", Unit: "J", Kind: Gauge, Source: "energy_now", Mul: 3600, Div: 1e6, Help: "energy left, joules; null where the battery counts charge"},
	{Name: "charge_c", Unit: "C", Kind: Gauge, Source: "charge_now", Mul: 3600, Div: 1e6, Help: "charge left, coulombs; null where the battery counts energy"},
	{Name: "power_w", Unit: "W", Kind: Gauge, Source: "power_now", Div: 1e6, Help: "watts drawn from it, or put into it"},
	{Name: "voltage_v", Unit: "V", Kind: Gauge, Source: "voltage_now", Div: 1e6, Help: "volts"},
	{Name: "current_a", Unit: "A", Kind: Gauge, Source: "current_now", Div: 1e6, Help: "amperes drawn from it, or put into it; some drivers give drawn ones a minus"},
	{Name: "discharging", Kind: Gauge, Source: "status", Help: "1 while the host runs on it, 0 while it does not"},
}, Help: "per battery"}

// NUMA is a memory node (Documentation/admin-guide/numastat.rst).
var NUMA = Table{Name: "numa", Version: 1, Device: "node", Sparse: true, Class: "numa", Columns: []Column{
	{Name: "numa_hit", Unit: "page", Kind: Counter, Source: "numa_hit", Help: "pages allocated here as intended"},
	{Name: "numa_miss", Unit: "page", Kind: Counter, Source: "numa_miss", Better: Lower, Help: "pages allocated here though another node was preferred"},
	{Name: "numa_foreign", Unit: "page", Kind: Counter, Source: "numa_foreign", Better: Lower, Help: "pages intended for here and allocated elsewhere"},
	{Name: "interleave_hit", Unit: "page", Kind: Counter, Source: "interleave_hit", Help: "interleaved pages allocated here as intended"},
	{Name: "local_node", Unit: "page", Kind: Counter, Source: "local_node", Help: "pages allocated here by tasks that ran here"},
	{Name: "other_node", Unit: "page", Kind: Counter, Source: "other_node", Better: Lower, Help: "pages allocated here by tasks that ran elsewhere"},
	{Name: "total_bytes", Unit: "B", Kind: Gauge, Source: "MemTotal", Mul: 1024, Help: "usable memory"},
	{Name: "free_bytes", Unit: "B", Kind: Gauge, Source: "MemFree", Mul: 1024, Help: "not used at all"},
	{Name: "used_bytes", Unit: "B", Kind: Gauge, Source: "MemUsed", Mul: 1024, Help: "total less free"},
	{Name: "file_bytes", Unit: "B", Kind: Gauge, Source: "FilePages", Mul: 1024, Help: "page cache, shared memory and buffers included"},
	{Name: "anon_bytes", Unit: "B", Kind: Gauge, Source: "AnonPages", Mul: 1024, Help: "anonymous pages in page tables"},
}, Help: "per NUMA node, from /sys/devices/system/node"}

// HugePages is the pool of huge pages of one size
// (Documentation/admin-guide/mm/hugetlbpage.rst). It has rows where there is more than
// the default size, which table memory has.
var HugePages = Table{Name: "hugepages", Version: 1, Device: "size", Sparse: true, Class: "hugepages", Columns: []Column{
	{Name: "total_bytes", Unit: "B", Kind: Gauge, Source: "nr_hugepages", Help: "the pool"},
	{Name: "free_bytes", Unit: "B", Kind: Gauge, Source: "free_hugepages", Sar: "kbhugfree", Help: "its part not allocated, the reserved pages included"},
	{Name: "reserved_bytes", Unit: "B", Kind: Gauge, Source: "resv_hugepages", Sar: "kbhugrsvd", Help: "promised, not yet allocated"},
	{Name: "surplus_bytes", Unit: "B", Kind: Gauge, Source: "surplus_hugepages", Sar: "kbhugsurp", Help: "above the pool's configured size"},
}, Derived: []Metric{
	{Name: "used_bytes", Unit: "B", Better: None, Plus: []string{"total_bytes"}, Minus: []string{"free_bytes"}, Sar: "kbhugused", Help: "allocated"},
}, Help: "per size of huge pages, from /sys/kernel/mm/hugepages"}

// USB is what is plugged in: an inventory, in which rows come and go, with the one number
// that it has.
var USB = Table{Name: "usb", Version: 1, Device: "device", Sparse: true, NoTotal: []string{""}, Class: "usb", Columns: []Column{
	{Name: "max_power_a", Unit: "A", Kind: Gauge, Source: "bMaxPower", Div: 1000, Sar: "maxpower", Help: "the most that the device may draw, as it declares"},
}, Help: "per USB device (bus-port vendor:product name); read every 10 s"}

// FC is a Fibre Channel host's port (Documentation/ABI/testing/sysfs-class-fc_host).
var FC = Table{Name: "fc", Version: 1, Device: "fchost", Sparse: true, Class: "fc", Columns: []Column{
	{Name: "rx_frames", Kind: Counter, Source: "rx_frames", Sar: "fch_rxf/s", Help: "frames received"},
	{Name: "tx_frames", Kind: Counter, Source: "tx_frames", Sar: "fch_txf/s", Help: "frames sent"},
	{Name: "rx_words", Kind: Counter, Source: "rx_words", Sar: "fch_rxw/s", Help: "transmission words (4 bytes) received"},
	{Name: "tx_words", Kind: Counter, Source: "tx_words", Sar: "fch_txw/s", Help: "transmission words (4 bytes) sent"},
}, Help: "per Fibre Channel host, from /sys/class/fc_host"}

// InfiniBand is a port of an RDMA adapter
// (Documentation/ABI/stable/sysfs-class-infiniband). Ethernet ports count only their RDMA
// traffic here.
var InfiniBand = Table{Name: "infiniband", Version: 1, Device: "port", Sparse: true, Class: "infiniband", Columns: []Column{
	{Name: "rx_bytes", Unit: "B", Kind: Counter, Source: "port_rcv_data", Mul: 4, Help: "bytes received"},
	{Name: "rx_packets", Kind: Counter, Source: "port_rcv_packets", Help: "packets received"},
	{Name: "rx_errors", Kind: Counter, Source: "port_rcv_errors", Better: Lower, Help: "bad packets received"},
	{Name: "tx_bytes", Unit: "B", Kind: Counter, Source: "port_xmit_data", Mul: 4, Help: "bytes sent"},
	{Name: "tx_packets", Kind: Counter, Source: "port_xmit_packets", Help: "packets sent"},
	{Name: "tx_discards", Kind: Counter, Source: "port_xmit_discards", Better: Lower, Help: "packets not sent: the port was down or congested"},
	{Name: "tx_wait", Kind: Counter, Source: "port_xmit_wait", Better: Lower, Help: "ticks of the adapter's own clock in which data waited for credits"},
	{Name: "link_downed", Kind: Counter, Source: "link_downed", Better: Lower, Help: "times that the link failed"},
	{Name: "speed_bit_per_s", Unit: "bit/s", Kind: Gauge, Source: "rate", Help: "the link's rate; read every 10 s"},
}, Help: "per RDMA port (adapter/port), from /sys/class/infiniband"}

// EDAC is a memory controller's error counters
// (Documentation/ABI/testing/sysfs-devices-edac).
var EDAC = Table{Name: "edac", Version: 1, Device: "controller", Sparse: true, Class: "edac", Columns: []Column{
	{Name: "ce_count", Kind: Counter, Source: "ce_count", Better: Lower, Help: "memory errors corrected"},
	{Name: "ue_count", Kind: Counter, Source: "ue_count", Better: Lower, Help: "memory errors that could not be corrected"},
}, Help: "per memory controller, from /sys/devices/system/edac"}

// Link is an interface's link (Documentation/ABI/testing/sysfs-class-net). Its speed is
// in table net, beside what it bounds.
var Link = Table{Name: "link", Version: 1, Device: "interface", Sparse: true, NoTotal: []string{""}, Class: "link", Columns: []Column{
	{Name: "carrier_changes", Kind: Counter, Better: Lower, Source: "carrier_changes", Help: "times that the link came or went; null before Linux 3.15"},
	{Name: "up", Kind: Gauge, Source: "operstate", Help: "1: operational, 0: not, null: the driver does not say (lo)"},
	{Name: "mtu_bytes", Unit: "B", Kind: Gauge, Source: "mtu", Help: "largest packet; read every 10 s and when the carrier changed"},
}, Help: "per interface, from /sys/class/net"}

// Clock is how well the kernel's clock is disciplined: adjtimex(2). The offset of a PTP
// hardware clock is not here: only the daemon that steers it (ptp4l, phc2sys) knows it.
var Clock = Table{Name: "clock", Version: 1, Sparse: true, Class: "clock", Columns: []Column{
	{Name: "offset_s", Unit: "s", Kind: Gauge, Div: 1e9, Help: "what the kernel has still to slew; 0 under chrony, which corrects by the frequency alone"},
	{Name: "frequency_ppm", Unit: "ppm", Kind: Gauge, Div: 65536, Help: "correction of the clock's rate: freq and tick of adjtimex(2)"},
	{Name: "max_error_s", Unit: "s", Kind: Gauge, Div: 1e6, Better: Lower, Help: "bound of the error; grows until the clock is set again, 16 s without"},
	{Name: "est_error_s", Unit: "s", Kind: Gauge, Div: 1e6, Better: Lower, Help: "estimated error, as the daemon told the kernel; 16 s if none did"},
	{Name: "synchronised", Kind: Gauge, Better: Higher, Help: "1: a daemon says that the clock is synchronised, 0: none does (STA_UNSYNC)"},
	{Name: "tai_offset_s", Unit: "s", Kind: Gauge, Help: "TAI less UTC; null if nobody told the kernel"},
}, Help: "the kernel's clock, from adjtimex(2)"}
