package schemas

import (
	"slices"
	"strings"
	"testing"
)

// sarNames are the columns of sar -A (sysstat 12.6.1) that come from /proc, by the table
// that has them.
var sarNames = []struct {
	table *Table
	names string
}{
	{&Memory, "kbmemfree kbavail kbmemused %memused kbbuffers kbcached kbcommit %commit kbactive kbinact kbdirty kbanonpg kbslab kbkstack kbpgtbl kbvmused"},
	{&Memory, "kbswpfree kbswpused %swpused kbswpcad %hugused"},
	{&Disk, "tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util rtps wtps dtps"},
	{&Net, "rxpck/s txpck/s rxkB/s txkB/s rxcmp/s txcmp/s rxmcst/s rxerr/s txerr/s coll/s rxdrop/s txdrop/s txcarr/s rxfram/s rxfifo/s txfifo/s"},
	{&Load, "runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked"},
	{&Paging, "pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s %vmeff pswpin/s pswpout/s"},
	{&Kernel, "proc/s cswch/s dentunusd file-nr inode-nr pty-nr"},
	{&Softnet, "total/s dropd/s squeezd/s rx_rps/s flw_lim/s blg_len"},
	{&Serial, "rcvin/s xmtin/s framerr/s prtyerr/s brk/s ovrun/s"},
	{&Filesystem, "MBfsfree MBfsused %fsused %ufsused Ifree Iused %Iused"},
	{&NetProto, "irec/s fwddgm/s idel/s orq/s asmrq/s asmok/s fragok/s fragcrt/s"},
	{&NetProto, "ihdrerr/s iadrerr/s iukwnpr/s idisc/s odisc/s onort/s asmf/s fragf/s"},
	{&NetProto, "imsg/s omsg/s iech/s iechr/s oech/s oechr/s itm/s itmr/s otm/s otmr/s iadrmk/s iadrmkr/s oadrmk/s oadrmkr/s"},
	{&NetProto, "ierr/s oerr/s idstunr/s odstunr/s itmex/s otmex/s iparmpb/s oparmpb/s isrcq/s osrcq/s iredir/s oredir/s"},
	{&NetProto, "active/s passive/s iseg/s oseg/s atmptf/s estres/s retrans/s isegerr/s orsts/s idgm/s odgm/s noport/s idgmerr/s"},
	{&NetProto6, "irec6/s fwddgm6/s idel6/s orq6/s asmrq6/s asmok6/s imcpck6/s omcpck6/s fragok6/s fragcr6/s"},
	{&NetProto6, "ihdrer6/s iadrer6/s iukwnp6/s i2big6/s idisc6/s odisc6/s inort6/s onort6/s asmf6/s fragf6/s itrpck6/s"},
	{&NetProto6, "imsg6/s omsg6/s iech6/s iechr6/s oechr6/s igmbq6/s igmbr6/s ogmbr6/s igmbrd6/s ogmbrd6/s irtsol6/s ortsol6/s irtad6/s inbsol6/s onbsol6/s inbad6/s onbad6/s"},
	{&NetProto6, "ierr6/s idtunr6/s odtunr6/s itmex6/s otmex6/s iprmpb6/s oprmpb6/s iredir6/s oredir6/s ipck2b6/s opck2b6/s idgm6/s odgm6/s noport6/s idgmer6/s"},
	{&Sockets, "totsck tcpsck udpsck rawsck ip-frag tcp-tw tcp6sck udp6sck raw6sck ip6-frag"},
	{&NFSClient, "call/s retrans/s read/s write/s access/s getatt/s"},
	{&NFSServer, "scall/s badcall/s packet/s udp/s tcp/s hit/s miss/s sread/s swrite/s saccess/s sgetatt/s"},
}

// Each of sar's columns is one of ours, and no other column of its table claims it.
func TestSarsColumns(t *testing.T) {
	for _, tt := range sarNames {
		for name := range strings.FieldsSeq(tt.names) {
			var has []string
			for _, m := range tt.table.Metrics() {
				if m.Sar == name {
					has = append(has, m.Name)
				}
			}
			if len(has) != 1 {
				t.Errorf("%s: %s is %q", tt.table.Name, name, has)
			}
		}
	}
	for _, table := range []*Table{&Kernel, &Softnet, &Serial, &Filesystem, &NetProto, &NetProto6, &Sockets, &NFSClient, &NFSServer, &Swap, &Sched} {
		for _, m := range table.Metrics() {
			known := m.Sar == "" || m.Sar == "intr/s"
			for _, tt := range sarNames {
				known = known || tt.table == table && slices.Contains(strings.Fields(tt.names), m.Sar)
			}
			if !known {
				t.Errorf("%s.%s: sar prints no %s", table.Name, m.Name, m.Sar)
			}
		}
	}
}
