package loaders

import (
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/steadybench/steady/schemas"
)

// SarColumn says where a column of sar goes.
type SarColumn struct {
	// Activity is sysstat's name of the block, Option the option of sar that prints it.
	Activity, Option string
	// Sar is the column in sar's text and in sadf -d, "" where only the JSON has it.
	Sar string
	// JSON is the path of the same in sadf -j, "" where only the text has it.
	JSON string
	// Table and Column are ours: a column that holds a level, or a metric whose rates
	// files can store. They are empty where Why says that there is none.
	Table, Column string
	// Device is the row, where it is not the one that sar names.
	Device string
	// Why is the reason for none, or how the value is brought to ours.
	Why string
}

// SarColumns returns all columns that sar and sadf print, of sysstat 10.0 to 12.8, in
// sar's order. ReadSadf and ReadSar go by nothing else.
func SarColumns() []SarColumn {
	var out []SarColumn
	for _, a := range sarActivities() {
		if a.head != "" {
			out = append(out, SarColumn{Activity: a.name, Option: a.option, Sar: a.head, JSON: a.jsonPath(a.key), Why: "names the row"})
		}
		if a.form == sarFormFilesystem {
			out = append(out, SarColumn{Activity: a.name, Option: "-F MOUNT", Sar: sarMountPoint, JSON: a.jsonPath("mountpoint"), Why: "names the row"})
		}
		for i := range a.columns {
			c := &a.columns[i]
			s := SarColumn{Activity: a.name, Option: a.option, Sar: c.sar, Device: c.device, Why: c.why}
			if c.json != "" {
				s.JSON = a.jsonPath(c.json)
			}
			if c.table != nil {
				s.Table, s.Column = c.table.Name, c.name()
			}
			out = append(out, s)
		}
	}
	return out
}

// sarActivity is one block of sar and the object of the same in sadf's JSON.
type sarActivity struct {
	name, option string
	paths        []string // of the JSON object or array
	table        string   // ours
	head, key    string   // what names a row, in text and in JSON
	columns      []sarColumn
	form         sarForm

	number int            // its place
	bySar  map[string]int // columns by name, those of text
	byJSON map[string]int
}

// sarForm is how a row becomes ours where that takes more than its columns one by one.
type sarForm uint8

const (
	sarByColumn sarForm = iota
	sarFormCPU
	sarFormInterrupts
	sarFormMemory
	sarFormDisk
	sarFormPaging
	sarFormIO
	sarFormCPUFreq
	sarFormSensor
	sarFormBattery
	sarFormUSB
	sarFormFilesystem
)

func (a *sarActivity) jsonPath(key string) string {
	path := strings.ReplaceAll(a.paths[0], "/", ".")
	if inner := sarInner[key]; inner != "" && a.form == sarFormIO {
		path += "." + inner
	}
	return path + "." + key
}

// sarInner are the objects within A_IO's.
var sarInner = map[string]string{"rtps": "io-reads", "bread": "io-reads", "wtps": "io-writes", "bwrtn": "io-writes", "dtps": "io-discard", "bdscd": "io-discard"}

// sarColumn is a column of a block, and its place with us.
type sarColumn struct {
	sar, json string
	others    []string // names of the same in other versions
	why       string
	device    string
	mul       float64 // to our unit; 0 means 1
	text      bool    // no number
	after     string  // counts only where the named one is not there
	added     string  // ours is the sum with the named one

	want   string         // ours by name; "" is the one whose Sar this is
	table  *schemas.Table // nil: none
	column int            // of a level, or -1
	rate   int            // among Table.Stored(), or -1
	limit  float64        // no true value exceeds it

	fraction bool            // sar prints it with two decimals
	def      *schemas.Column // of a level
	metric   string          // of a rate
}

func (c *sarColumn) name() string {
	if c.def != nil {
		return c.def.Name
	}
	return c.metric
}

// What a column is, beyond its name.
func (c sarColumn) key(json string) sarColumn       { c.json = json; return c }
func (c sarColumn) also(names ...string) sarColumn  { c.others = names; return c }
func (c sarColumn) times(f float64) sarColumn       { c.mul = f; return c }
func (c sarColumn) as(column string) sarColumn      { c.want = column; return c }
func (c sarColumn) on(device string) sarColumn      { c.device = device; return c }
func (c sarColumn) how(why string) sarColumn        { c.why = why; return c }
func (c sarColumn) none(why string) sarColumn       { c.want, c.why = "-", why; return c }
func (c sarColumn) unless(primary string) sarColumn { c.after = primary; return c }
func (c sarColumn) atMost(limit float64) sarColumn  { c.limit = limit; return c }
func (c sarColumn) words() sarColumn                { c.text = true; return c }
func (c sarColumn) plus(name string) sarColumn      { c.added = name; return c }
func (c sarColumn) onlyJSON() sarColumn             { c.sar = ""; return c }

// sarCol is a column whose JSON field has its name without "/s".
func sarCol(name string) sarColumn { return sarColumn{sar: name, json: strings.TrimSuffix(name, "/s")} }

// sarEach are columns that have all else as the one given.
func sarEach(names string, like ...sarColumn) []sarColumn {
	var out []sarColumn
	for name := range strings.FieldsSeq(names) {
		c := sarCol(name)
		for _, l := range like {
			l.sar, l.json = c.sar, c.json
			c = l
		}
		out = append(out, c)
	}
	return out
}

// sarMountPoint heads the names of A_FS with -F MOUNT.
const sarMountPoint = "MOUNTPOINT"

// Sizes in sar's units, in bytes.
const (
	sarKiB    = 1024
	sarMiB    = 1 << 20
	sarSector = 512
)

const (
	sarFromMemory  = "formed from the levels of memory"
	sarPerCell     = "one number an interrupt and CPU: table interrupt_cells is for who asks for it; the sums over CPUs and over names are kept"
	sarLongAverage = "the kernel's longer average of the same"
)

// sarActivities are all blocks of sysstat 10.0 to 12.8 (activity.c, json_stats.c and
// pr_stats.c there; sar(1), sadf(1)).
var sarActivities = sync.OnceValue(func() []*sarActivity {
	all := []*sarActivity{
		{name: "A_CPU", option: "-u", paths: []string{"cpu-load", "cpu-load-all"}, table: "cpu", head: "CPU", key: "cpu", form: sarFormCPU, columns: []sarColumn{
			sarCol("%user").key("user").as("user_pct").how("guest time included, as with us"),
			sarCol("%usr").key("usr").as("user_pct").how("-u ALL; guest time apart: %guest is added"),
			sarCol("%nice").key("nice").as("nice_pct").how("of -u ALL without %gnice, which is added"),
			sarCol("%system").key("system").as("kernel_pct").how("interrupts and softirqs included"),
			sarCol("%sys").key("sys").as("system_pct").how("-u ALL; with %irq and %soft also kernel_pct"),
			sarCol("%iowait").key("iowait"), sarCol("%steal").key("steal"),
			sarCol("%irq").key("irq"), sarCol("%soft").key("soft"), sarCol("%guest").key("guest"), sarCol("%gnice").key("gnice"),
			sarCol("%idle").key("idle"),
		}},
		{name: "A_PCSW", option: "-w", paths: []string{"process-and-context-switch"}, table: "kernel", columns: sarEach("proc/s cswch/s")},
		{name: "A_IRQ", option: "-I ALL", paths: []string{"interrupts"}, table: "interrupts", head: "INTR", key: "intr", form: sarFormInterrupts, columns: []sarColumn{
			sarCol("intr/s").key("value").as("count_per_s").how("before sysstat 12.5.6; of row sum to row all of interrupts_cpu.interrupts_per_s, though it was the kernel's own total"),
			sarCol("all").as("count_per_s").how("of row sum to row all of interrupts_cpu.interrupts_per_s"),
			sarCol("CPU*").none("of row sum to interrupts_cpu.interrupts_per_s; else " + sarPerCell),
		}},
		{name: "A_SWAP", option: "-W", paths: []string{"swap-pages"}, table: "paging", columns: sarEach("pswpin/s pswpout/s")},
		{name: "A_PAGE", option: "-B", paths: []string{"paging"}, table: "paging", form: sarFormPaging, columns: slices.Concat(
			sarEach("pgpgin/s pgpgout/s", sarCol("").times(sarKiB).atMost(sarMaxBytes)),
			sarEach("fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s"), []sarColumn{
				sarCol("%vmeff").key("vmeff-percent").atMost(100).how("unknown while no pages are scanned, where sar prints 0.00"),
				sarCol("pgprom/s").as("pgpromote_success_per_s").how("since sysstat 12.7.2"),
				sarCol("pgdem/s").none("since sysstat 12.7.2: the sum of pgdemote_kswapd, pgdemote_direct and pgdemote_khugepaged"),
			})},
		{name: "A_IO", option: "-b", paths: []string{"io"}, table: "disk", form: sarFormIO, columns: slices.Concat(
			sarEach("tps rtps wtps dtps", sarCol("").on(schemas.All)),
			sarEach("bread/s", sarCol("").on(schemas.All).times(sarSector).as("read_bytes_per_s").atMost(sarMaxBytes)),
			sarEach("bwrtn/s", sarCol("").on(schemas.All).times(sarSector).as("write_bytes_per_s").atMost(sarMaxBytes)),
			sarEach("bdscd/s", sarCol("").on(schemas.All).times(sarSector).as("discard_bytes_per_s").atMost(sarMaxBytes)),
		)},
		{name: "A_MEMORY", option: "-r ALL -S", paths: []string{"memory"}, table: "memory", form: sarFormMemory, columns: []sarColumn{
			sarCol("kbmemfree").key("memfree").times(sarKiB),
			sarCol("kbavail").key("avail").times(sarKiB).how("0 is: not recorded"),
			sarCol("kbmemused").key("memused").times(sarKiB).as("total_bytes").how("by the definition of sysstat's version, which the manifest names: total is what used leaves out and used; memory.used_bytes is always total less available"),
			sarCol("%memused").key("memused-percent").none("tells which definition of used memory the file has; " + sarFromMemory),
			sarCol("kbbuffers").key("buffers").times(sarKiB), sarCol("kbcached").key("cached").times(sarKiB), sarCol("kbcommit").key("commit").times(sarKiB),
			sarCol("%commit").key("commit-percent").atMost(math.Inf(1)),
			sarCol("kbactive").key("active").times(sarKiB), sarCol("kbinact").key("inactive").times(sarKiB), sarCol("kbdirty").key("dirty").times(sarKiB),
			sarCol("kbshmem").key("shared").also("shmem", "kbshared").times(sarKiB).as("shmem_bytes").how("since sysstat 12.7.8"),
			sarCol("kbanonpg").key("anonpg").times(sarKiB), sarCol("kbslab").key("slab").times(sarKiB), sarCol("kbkstack").key("kstack").times(sarKiB),
			sarCol("kbpgtbl").key("pgtbl").times(sarKiB), sarCol("kbvmused").key("vmused").times(sarKiB),
			sarCol("kbswpfree").key("swpfree").times(sarKiB),
			sarCol("kbswpused").key("swpused").times(sarKiB).as("swap_total_bytes").plus("kbswpfree").how("with kbswpfree the total"),
			sarCol("%swpused").key("swpused-percent").none(sarFromMemory),
			sarCol("kbswpcad").key("swpcad").times(sarKiB), sarCol("%swpcad").key("swpcad-percent").none(sarFromMemory),
			sarCol("frmpg/s").none("until sysstat 11.5.3: the change of a level, in pages whose size is not told"),
			sarCol("bufpg/s").none("until sysstat 11.5.3: the change of a level, in pages whose size is not told"),
			sarCol("campg/s").none("until sysstat 11.5.3: the change of a level, in pages whose size is not told"),
		}},
		{name: "A_HUGE", option: "-H", paths: []string{"hugepages"}, table: "hugepages", columns: []sarColumn{
			sarCol("kbhugfree").key("hugfree").on("default").times(sarKiB),
			sarCol("kbhugused").key("hugused").on("default").times(sarKiB).as("total_bytes").plus("kbhugfree").how("with kbhugfree the total"),
			sarCol("%hugused").key("hugused-percent").none("formed from the levels of hugepages"),
			sarCol("kbhugrsvd").key("hugrsvd").on("default").times(sarKiB), sarCol("kbhugsurp").key("hugsurp").on("default").times(sarKiB),
		}},
		{name: "A_KTABLES", option: "-v", paths: []string{"kernel"}, table: "kernel", columns: sarEach("dentunusd file-nr inode-nr pty-nr")},
		{name: "A_QUEUE", option: "-q", paths: []string{"queue"}, table: "load", columns: slices.Concat(
			[]sarColumn{sarCol("runq-sz").how("sar leaves itself out, we don't: one more")}, sarEach("plist-sz ldavg-1 ldavg-5 ldavg-15 blocked"))},
		{name: "A_SERIAL", option: "-y", paths: []string{"serial"}, table: "serial", head: "TTY", key: "line", columns: slices.Concat(
			sarEach("rcvin/s"), []sarColumn{sarCol("xmtin/s").also("txmtin/s")}, sarEach("framerr/s prtyerr/s brk/s ovrun/s"))},
		{name: "A_DISK", option: "-d", paths: []string{"disk"}, table: "disk", head: "DEV", key: "disk-device", form: sarFormDisk, columns: []sarColumn{
			sarCol("tps"),
			sarCol("rd_sec/s").times(sarSector).as("read_bytes_per_s").unless("rkB/s").atMost(sarMaxBytes).how("until sysstat 11.5.7"),
			sarCol("wr_sec/s").times(sarSector).as("write_bytes_per_s").unless("wkB/s").atMost(sarMaxBytes).how("until sysstat 11.5.7"),
			sarCol("dc_sec").onlyJSON().times(sarSector).as("discard_bytes_per_s").unless("dkB/s").atMost(sarMaxBytes),
			sarCol("rkB/s").times(sarKiB).atMost(sarMaxBytes), sarCol("wkB/s").times(sarKiB).atMost(sarMaxBytes), sarCol("dkB/s").times(sarKiB).atMost(sarMaxBytes),
			sarCol("avgrq-sz").times(sarSector).as("areq_bytes").unless("areq-sz").atMost(sarMaxRequest).how("until sysstat 11.5.7"),
			sarCol("areq-sz").times(sarKiB).atMost(sarMaxRequest).how("unknown while no requests end, where sar prints 0.00"),
			sarCol("avgqu-sz").as("queue_size").unless("aqu-sz").atMost(1e9).how("until sysstat 11.5.7"),
			sarCol("aqu-sz").atMost(1e9),
			sarCol("await").times(1e-3).atMost(sarMaxSeconds).how("unknown while no requests end, where sar prints 0.00"),
			sarCol("svctm").none("until sysstat 12.1.2; sar(1) itself says not to trust it"),
			sarCol("%util").key("util-percent").atMost(sarMaxShare),
		}},
		{name: "A_NET_DEV", option: "-n DEV", paths: []string{"network/net-dev"}, table: "net", head: "IFACE", key: "iface", columns: slices.Concat(
			sarEach("rxpck/s txpck/s", sarCol("").atMost(sarMaxPackets)), sarEach("rxkB/s txkB/s", sarCol("").times(sarKiB).atMost(sarMaxWire)), sarEach("rxcmp/s txcmp/s rxmcst/s", sarCol("").atMost(sarMaxPackets)),
			[]sarColumn{sarCol("%ifutil").key("ifutil-percent").atMost(sarMaxShare).none("0.00 is both an idle link and an unknown speed; above 100 it tells impossible rates")})},
		{name: "A_NET_EDEV", option: "-n EDEV", paths: []string{"network/net-edev"}, table: "net", head: "IFACE", key: "iface",
			columns: sarEach("rxerr/s txerr/s coll/s rxdrop/s txdrop/s txcarr/s rxfram/s rxfifo/s txfifo/s", sarCol("").atMost(sarMaxPackets))},
		{name: "A_NET_NFS", option: "-n NFS", paths: []string{"network/net-nfs"}, table: "nfs_client", columns: sarEach("call/s retrans/s read/s write/s access/s getatt/s")},
		{name: "A_NET_NFSD", option: "-n NFSD", paths: []string{"network/net-nfsd"}, table: "nfs_server",
			columns: sarEach("scall/s badcall/s packet/s udp/s tcp/s hit/s miss/s sread/s swrite/s saccess/s sgetatt/s")},
		{name: "A_NET_SOCK", option: "-n SOCK", paths: []string{"network/net-sock"}, table: "sockets", columns: sarEach("totsck tcpsck udpsck rawsck ip-frag tcp-tw")},
		{name: "A_NET_IP", option: "-n IP", paths: []string{"network/net-ip"}, table: "net_proto", columns: sarEach("irec/s fwddgm/s idel/s orq/s asmrq/s asmok/s fragok/s fragcrt/s")},
		{name: "A_NET_EIP", option: "-n EIP", paths: []string{"network/net-eip"}, table: "net_proto", columns: sarEach("ihdrerr/s iadrerr/s iukwnpr/s idisc/s odisc/s onort/s asmf/s fragf/s")},
		{name: "A_NET_ICMP", option: "-n ICMP", paths: []string{"network/net-icmp"}, table: "net_proto",
			columns: sarEach("imsg/s omsg/s iech/s iechr/s oech/s oechr/s itm/s itmr/s otm/s otmr/s iadrmk/s iadrmkr/s oadrmk/s oadrmkr/s")},
		{name: "A_NET_EICMP", option: "-n EICMP", paths: []string{"network/net-eicmp"}, table: "net_proto",
			columns: sarEach("ierr/s oerr/s idstunr/s odstunr/s itmex/s otmex/s iparmpb/s oparmpb/s isrcq/s osrcq/s iredir/s oredir/s")},
		{name: "A_NET_TCP", option: "-n TCP", paths: []string{"network/net-tcp"}, table: "net_proto", columns: sarEach("active/s passive/s iseg/s oseg/s")},
		{name: "A_NET_ETCP", option: "-n ETCP", paths: []string{"network/net-etcp"}, table: "net_proto", columns: slices.Concat(
			sarEach("atmptf/s estres/s"), []sarColumn{sarCol("retrans/s").also("retrseg/s").how("retrseg/s since sysstat 12.7")}, sarEach("isegerr/s orsts/s"))},
		{name: "A_NET_UDP", option: "-n UDP", paths: []string{"network/net-udp"}, table: "net_proto", columns: sarEach("idgm/s odgm/s noport/s idgmerr/s")},
		{name: "A_NET_SOCK6", option: "-n SOCK6", paths: []string{"network/net-sock6"}, table: "sockets", columns: sarEach("tcp6sck udp6sck raw6sck ip6-frag")},
		{name: "A_NET_IP6", option: "-n IP6", paths: []string{"network/net-ip6"}, table: "net_proto6",
			columns: sarEach("irec6/s fwddgm6/s idel6/s orq6/s asmrq6/s asmok6/s imcpck6/s omcpck6/s fragok6/s fragcr6/s")},
		{name: "A_NET_EIP6", option: "-n EIP6", paths: []string{"network/net-eip6"}, table: "net_proto6",
			columns: sarEach("ihdrer6/s iadrer6/s iukwnp6/s i2big6/s idisc6/s odisc6/s inort6/s onort6/s asmf6/s fragf6/s itrpck6/s")},
		{name: "A_NET_ICMP6", option: "-n ICMP6", paths: []string{"network/net-icmp6"}, table: "net_proto6",
			columns: sarEach("imsg6/s omsg6/s iech6/s iechr6/s oechr6/s igmbq6/s igmbr6/s ogmbr6/s igmbrd6/s ogmbrd6/s irtsol6/s ortsol6/s irtad6/s inbsol6/s onbsol6/s inbad6/s onbad6/s")},
		{name: "A_NET_EICMP6", option: "-n EICMP6", paths: []string{"network/net-eicmp6"}, table: "net_proto6",
			columns: sarEach("ierr6/s idtunr6/s odtunr6/s itmex6/s otmex6/s iprmpb6/s oprmpb6/s iredir6/s oredir6/s ipck2b6/s opck2b6/s")},
		{name: "A_NET_UDP6", option: "-n UDP6", paths: []string{"network/net-udp6"}, table: "net_proto6", columns: sarEach("idgm6/s odgm6/s noport6/s idgmer6/s")},
		{name: "A_NET_FC", option: "-n FC", paths: []string{"network/fchosts", "fchosts"}, table: "fc", head: "FCHOST", key: "fchost", columns: sarEach("fch_rxf/s fch_txf/s fch_rxw/s fch_txw/s")},
		{name: "A_NET_SOFT", option: "-n SOFT", paths: []string{"network/softnet"}, table: "softnet", head: "CPU", key: "cpu", columns: sarEach("total/s dropd/s squeezd/s rx_rps/s flw_lim/s blg_len")},
		{name: "A_PWR_CPU", option: "-m CPU", paths: []string{"power-management/cpu-frequency"}, table: "cpufreq", head: "CPU", key: "number", form: sarFormCPUFreq, columns: []sarColumn{
			sarCol("MHz").key("frequency").times(1e6).how("row all is the mean over CPUs, which our total is not: left out"),
		}},
		{name: "A_PWR_FAN", option: "-m FAN", paths: []string{"power-management/fan-speed"}, table: "fan", head: "FAN", key: "number", form: sarFormSensor, columns: []sarColumn{
			sarCol("rpm"), sarCol("drpm").how("speed less the lower limit"), sarCol("DEVICE").key("device").words().how("names the row, with the number"),
		}},
		{name: "A_PWR_TEMP", option: "-m TEMP", paths: []string{"power-management/temperature"}, table: "temperature", head: "TEMP", key: "number", form: sarFormSensor, columns: []sarColumn{
			sarCol("degC"), sarCol("%temp").key("percent-temp").none("the place between two limits that are not told"), sarCol("DEVICE").key("device").words().how("names the row, with the number"),
		}},
		{name: "A_PWR_IN", option: "-m IN", paths: []string{"power-management/voltage-input"}, table: "voltage", head: "IN", key: "number", form: sarFormSensor, columns: []sarColumn{
			sarCol("inV"), sarCol("%in").key("percent-in").none("the place between two limits that are not told"), sarCol("DEVICE").key("device").words().how("names the row, with the number"),
		}},
		{name: "A_PWR_FREQ", option: "-m FREQ", paths: []string{"power-management/cpu-weighted-frequency"}, table: "cpufreq", head: "CPU", key: "number", form: sarFormCPUFreq, columns: []sarColumn{
			sarCol("wghMHz").key("weighted-frequency").times(1e6).how("0.00 is: the driver keeps no statistics"),
		}},
		{name: "A_PWR_BAT", option: "-m BAT", paths: []string{"power-management/battery"}, table: "battery", head: "BAT", key: "number", form: sarFormBattery, columns: []sarColumn{
			sarCol("%cap").key("percent-capacity"), sarCol("cap/min").key("variation").none("the change of %cap"),
			sarCol("status").words().as("discharging").how("1 while it discharges, 0 in any other known state"),
		}},
		{name: "A_PWR_USB", option: "-m USB", paths: []string{"power-management/usb-devices"}, table: "usb", head: "BUS", key: "bus_number", form: sarFormUSB, columns: []sarColumn{
			sarCol("idvendor").words().how("names the row"), sarCol("idprod").words().how("names the row"),
			sarCol("maxpower").times(1e-3), sarCol("manufact").words().none("the product says it"), sarCol("product").words().how("names the row"),
		}},
		{name: "A_FS", option: "-F", paths: []string{"filesystems"}, table: "filesystem", head: "FILESYSTEM", key: "filesystem", form: sarFormFilesystem, columns: []sarColumn{
			sarCol("MBfsfree").times(sarMiB).how("in whole MiB"), sarCol("MBfsused").times(sarMiB).as("size_bytes").plus("MBfsfree").how("in whole MiB; with MBfsfree the size"),
			sarCol("%fsused").also("fsused-percent"), sarCol("%ufsused").also("ufsused-percent"),
			sarCol("Ifree"), sarCol("Iused").as("inodes").plus("Ifree").how("with Ifree the number"), sarCol("%Iused").also("Iused-percent"),
		}},
		{name: "A_PSI_CPU", option: "-q CPU", paths: []string{"psi/psi-cpu"}, table: "pressure", columns: sarPressure("cpu", "cpu", "s")},
		{name: "A_PSI_IO", option: "-q IO", paths: []string{"psi/psi-io"}, table: "pressure", columns: sarPressure("io", "io", "sf")},
		{name: "A_PSI_MEM", option: "-q MEM", paths: []string{"psi/psi-mem"}, table: "pressure", columns: sarPressure("mem", "memory", "sf")},
	}
	for i, a := range all {
		a.number = i
		a.resolve()
	}
	return all
})

// What no true value exceeds. Ethernet ends at 1.6 Tbit/s (IEEE 802.3dj), which is also
// more than 1e9 packets a second that any system has been seen to handle.
const (
	sarMaxEvents  = 1e10
	sarMaxPackets = 1e9
	sarMaxWire    = 2e11    // bytes a second of an interface
	sarMaxBytes   = 1e13    // bytes a second of disks
	sarMaxRequest = 1 << 30 // bytes
	sarMaxSeconds = 1e6
	sarMaxCPU     = 101 // percent of the ticks: rounding, and iowait that goes back
	sarMaxShare   = 110 // percent of the time: two clocks are read one after the other
)

// sarPressure are the columns of a resource: s is some, f is full.
func sarPressure(name, device, kinds string) []sarColumn {
	var out []sarColumn
	for _, k := range kinds {
		sar, kind := "%"+string(k)+name, map[rune]string{'s': "some", 'f': "full"}[k]
		out = append(out,
			sarCol(sar+"-10").key(kind+"_avg10").on(device).as(kind+"_avg10_pct"),
			sarCol(sar+"-60").key(kind+"_avg60").none(sarLongAverage),
			sarCol(sar+"-300").key(kind+"_avg300").none(sarLongAverage),
			sarCol(sar).key(kind+"_avg").on(device).as(kind+"_pct").atMost(sarMaxShare))
	}
	return out
}

// resolve finds the columns' places with us.
func (a *sarActivity) resolve() {
	a.bySar, a.byJSON = map[string]int{}, map[string]int{}
	t, _ := schemas.Lookup(a.table)
	for i := range a.columns {
		c := &a.columns[i]
		c.column, c.rate = -1, -1
		if c.mul == 0 {
			c.mul = 1
		}
		if c.limit == 0 {
			switch {
			case a.form == sarFormCPU:
				c.limit = sarMaxCPU
			case strings.HasPrefix(c.sar, "%"):
				c.limit = 101
			case strings.HasSuffix(c.sar, "/s"), strings.HasSuffix(c.sar, "tps"):
				c.limit = sarMaxEvents
			default:
				c.limit = math.Inf(1)
			}
		}
		c.fraction = strings.HasPrefix(c.sar, "%") && c.sar != "%cap" || strings.HasSuffix(c.sar, "/s")
		for _, name := range append([]string{c.sar}, c.others...) {
			if name != "" {
				a.bySar[name] = i
			}
		}
		for _, name := range append([]string{c.json}, c.others...) {
			if name != "" {
				a.byJSON[strings.TrimSuffix(name, "/s")] = i
			}
		}
		if c.want != "-" && t != nil {
			c.find(t)
		}
	}
}

// find sets the column's place in t: a level, or a metric whose rates can be stored.
func (c *sarColumn) find(t *schemas.Table) {
	for i := range t.Columns {
		d := &t.Columns[i]
		if d.Kind == schemas.Gauge && (d.Name == c.want || c.want == "" && c.sar == d.Sar) {
			c.table, c.column, c.def = t, i, d
			return
		}
	}
	for i, m := range t.Stored() {
		if m.Name == c.want || c.want == "" && c.sar == m.Sar {
			c.table, c.rate, c.metric = t, i, m.Name
			return
		}
	}
}
