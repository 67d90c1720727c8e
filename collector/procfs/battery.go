package procfs

import "path/filepath"

// batteryFinder finds the batteries and UPSs that supply the host, not those of its mice.
func batteryFinder(h *host) finder {
	return func(l *layout) {
		const class = "class/power_supply"
		for _, name := range l.entries(h, class, "") {
			dir := filepath.Join(h.sys, class, name)
			if !h.isBattery(dir) {
				continue
			}
			row := l.row(name, "")
			l.sources(dir, row, fillNumber)
			l.cells[len(l.cells)-1].fill = fillValue(discharging) // the last column
		}
	}
}

// isBattery reports whether a power supply is a battery or UPS of the host.
func (h *host) isBattery(dir string) bool {
	kind := h.text(filepath.Join(dir, "type"))
	return (kind == "Battery" || kind == "UPS") && h.text(filepath.Join(dir, "scope")) != "Device"
}

// discharging returns what a battery's status says of it.
func discharging(text []byte) (v int64, known bool, f fault) {
	switch string(text) {
	case "Discharging":
		return 1, true, f
	case "Charging", "Not charging", "Full":
		return 0, true, f
	case "Unknown":
		return 0, false, f
	}
	return 0, false, fault{text, "not a battery's status"}
}
