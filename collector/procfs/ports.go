package procfs

import (
	"bytes"
	"math"
	"path/filepath"
)

// fcFinder finds the Fibre Channel hosts. Their adapter is asked for each file anew, so
// only what sar shows is read.
func fcFinder(h *host) finder {
	return func(l *layout) {
		const class = "class/fc_host"
		for _, name := range l.entries(h, class, "host") {
			l.sources(filepath.Join(h.sys, class, name, "statistics"), l.row(name, ""), fillValue(fcCounter))
		}
	}
}

// fcCounter returns a counter; all ones say that the adapter does not have it
// (include/scsi/scsi_transport_fc.h).
func fcCounter(text []byte) (v int64, known bool, f fault) {
	u, f := hexadecimal(text)
	return int64(u), u != math.MaxUint64, f
}

// infinibandFinder finds the ports of RDMA adapters that have counters; virtual functions
// may not.
func infinibandFinder(h *host) finder {
	return func(l *layout) {
		const class = "class/infiniband"
		for _, adapter := range l.entries(h, class, "") {
			ports := filepath.Join(class, adapter, "ports")
			for _, port := range l.entries(h, ports, "") {
				dir := filepath.Join(h.sys, ports, port)
				if !exists(filepath.Join(dir, "counters")) {
					continue
				}
				row := l.row(adapter+"/"+port, "")
				l.sources(filepath.Join(dir, "counters"), row, fillNumber)
				rate := l.cells[len(l.cells)-1] // the last column
				rate.path, rate.fill, rate.slow = filepath.Join(dir, "rate"), fillValue(portRate), true
			}
		}
	}
}

// portRate returns the bits a second of a port's rate: "100 Gb/sec (4X EDR)", "2.5 Gb/sec
// (1X SDR)".
func portRate(text []byte) (v int64, known bool, f fault) {
	field, s := word(text)
	unit, _ := word(s)
	whole, tenths, fraction := bytes.Cut(field, []byte("."))
	gigabits, f := natural(whole)
	tenth := uint64(0)
	if f.why == "" && fraction {
		tenth, f = natural(tenths)
	}
	if f.why != "" || string(unit) != "Gb/sec" || len(tenths) > 1 || gigabits > 1e9 {
		return 0, false, fault{text, "not a rate in Gb/sec"}
	}
	return int64(gigabits)*1e9 + int64(tenth)*1e8, true, fault{}
}
