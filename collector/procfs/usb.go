package procfs

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
)

// usbFinder finds the USB devices but the root hubs, which are the controllers. They are
// named by where they are plugged in, what they are, and their own name:
// "1-1.2 0951:1666 DataTraveler 3.0".
func usbFinder(h *host) finder {
	return func(l *layout) {
		const dir = "bus/usb/devices"
		for _, at := range l.entries(h, dir, "") {
			if at[0] < '0' || at[0] > '9' || strings.Contains(at, ":") { // root hubs, interfaces
				continue
			}
			name := at + " " + h.line(dir, at, "idVendor") + ":" + h.line(dir, at, "idProduct")
			if product := h.line(dir, at, "product"); product != "" {
				name += " " + product
			}
			row := l.row(name, "")
			l.cell(filepath.Join(h.sys, dir, at, "bMaxPower"), "max_power_a", fillValue(milliamperes), row).slow = true
		}
	}
}

// milliamperes returns the number of "500mA"; a device that is not configured says
// nothing.
func milliamperes(text []byte) (v int64, known bool, f fault) {
	if len(text) == 0 {
		return 0, false, f
	}
	digits, ok := bytes.CutSuffix(text, []byte("mA"))
	if u, f := natural(digits); f.why == "" && ok && u <= math.MaxInt64 {
		return int64(u), true, f
	}
	return 0, false, fault{text, "not a current in mA"}
}
