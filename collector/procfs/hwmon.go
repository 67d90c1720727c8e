package procfs

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/steadybench/steady/schemas"
)

const hwmon = "class/hwmon"

// sensorFinder finds the sensors of one quantity, of all chips: files called like
// "temp1_input", by the columns' Sources (Documentation/hwmon/sysfs-interface.rst).
func sensorFinder(quantity string, t *schemas.Table) func(*host) finder {
	return func(h *host) finder {
		return func(l *layout) { h.sensors(l, quantity) }
	}
}

func temperatureFinder(h *host) finder {
	return func(l *layout) {
		h.sensors(l, "temp")
		h.thermalZones(l)
	}
}

// sensors adds a quantity's sensors, named chip/label.
//
// Reading one may ask the hardware, and disturb it: coretemp interrupts each core once a
// second, drivetemp sends the disk a command, a chip on a slow bus takes milliseconds.
// Table collector has how long each table takes.
func (h *host) sensors(l *layout, quantity string) {
	for _, name := range l.entries(h, hwmon, "hwmon") {
		dir := filepath.Join(h.sys, hwmon, name)
		chip, base, own := h.chip(dir)
		if !own {
			continue
		}
		if !exists(filepath.Join(dir, "name")) { // drivers before hwmon_device_register_with_groups
			dir = filepath.Join(dir, "device")
		}
		l.watch = append(l.watch, dir)
		list, _ := os.ReadDir(dir) // one that went away has none
		labels := make(map[string]string)
		times := make(map[string]int)
		var order []string
		for _, e := range list {
			feature, suffix, _ := strings.Cut(e.Name(), "_")
			number, ok := strings.CutPrefix(feature, quantity)
			if !ok || number == "" || strings.Trim(number, "0123456789") != "" || suffix != "input" && suffix != "average" || labels[feature] != "" {
				continue
			}
			label := cmp.Or(h.text(filepath.Join(dir, feature+"_label")), feature)
			labels[feature] = label
			times[label]++
			order = append(order, feature)
		}
		for _, feature := range order {
			label := labels[feature]
			if times[label] > 1 && label != feature {
				label += " " + feature
			}
			row := l.row(chip+"/"+label, base)
			for i := range l.table.Columns {
				c := &l.table.Columns[i]
				cell := l.cell(filepath.Join(dir, feature+"_"+c.Source), c.Name, fillNumber, row)
				cell.slow = c.Source != "input" && c.Source != "average"
			}
			l.cell(filepath.Join(dir, feature+"_fault"), l.table.Columns[0].Name, fillFault, row)
		}
	}
}

// chip returns the name of the chip of a hwmon directory as sensors(1) and sar print it
// ("coretemp-isa-0000"), and what the kernel calls its device. own says that no other
// source reads it: the kernel shows thermal zones and batteries here too.
func (h *host) chip(dir string) (name, base string, own bool) {
	prefix := cmp.Or(h.text(filepath.Join(dir, "name")), h.text(filepath.Join(dir, "device/name")))
	device, err := filepath.EvalSymlinks(filepath.Join(dir, "device"))
	if err != nil {
		return prefix + "-virtual-0", filepath.Base(dir), prefix != ""
	}
	base = filepath.Base(device)
	bus := subsystem(device)
	if bus == "thermal" || bus == "power_supply" && h.isBattery(device) {
		return "", base, false
	}
	sys, _ := filepath.EvalSymlinks(h.sys)
	// The device of a class, like nvme0, is on the bus of one above it.
	for at := device; strings.HasPrefix(at, sys+"/"); at = filepath.Dir(at) {
		if address, ok := busAddress(subsystem(at), filepath.Base(at)); ok {
			return prefix + "-" + address, base, prefix != ""
		}
	}
	return prefix + "-virtual-0", base, prefix != ""
}

// subsystem returns the bus or class of a device.
func subsystem(device string) string {
	link, err := os.Readlink(filepath.Join(device, "subsystem"))
	if err != nil {
		return ""
	}
	return filepath.Base(link)
}

// busAddress returns a device's bus and address as libsensors writes them.
func busAddress(bus, device string) (address string, ok bool) {
	var a, b, c, d int
	scan := func(format string, to ...any) bool {
		n, _ := fmt.Sscanf(device, format, to...)
		return n == len(to)
	}
	switch bus {
	case "i2c":
		if scan("%d-%x", &a, &b) {
			return fmt.Sprintf("i2c-%d-%02x", a, b), true
		}
	case "spi":
		if scan("spi%d.%d", &a, &b) {
			return fmt.Sprintf("spi-%d-%x", a, b), true
		}
	case "pci":
		if scan("%x:%x:%x.%x", &a, &b, &c, &d) {
			return fmt.Sprintf("pci-%04x", a<<16+b<<8+c<<3+d), true
		}
	case "platform", "of_platform":
		if name, id, _ := strings.Cut(device, "."); strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
			fmt.Sscanf(id, "%d", &a) // none is 0
		}
		return fmt.Sprintf("isa-%04x", a), true
	case "acpi":
		return "acpi-0", true
	case "hid":
		if scan("%x:%x:%x.%x", &a, &b, &c, &d) {
			return fmt.Sprintf("hid-%d-%x", a, d), true
		}
	case "mdio_bus":
		if i := strings.LastIndexByte(device, ':'); i >= 0 {
			if n, _ := fmt.Sscanf(device[i+1:], "%x", &a); n == 1 {
				return fmt.Sprintf("mdio-%x", a), true
			}
		}
	case "scsi":
		if scan("%d:%d:%d:%x", &a, &b, &c, &d) {
			return fmt.Sprintf("scsi-%d-%x", a, b<<8+c<<4+d), true
		}
	}
	return "", false
}

// thermalZones adds the thermal zones, named thermal/type.
func (h *host) thermalZones(l *layout) {
	const class = "class/thermal"
	for _, zone := range l.entries(h, class, "thermal_zone") {
		dir := filepath.Join(h.sys, class, zone)
		row := l.row("thermal/"+h.line(class, zone, "type"), zone)
		l.cell(filepath.Join(dir, "temp"), "temp_degc", fillZone, row)
		trips, _ := filepath.Glob(filepath.Join(dir, "trip_point_*_type"))
		for _, trip := range trips {
			if h.text(trip) == "critical" {
				c := l.cell(strings.TrimSuffix(trip, "_type")+"_temp", "crit_degc", fillZone, row)
				c.slow = true
				break
			}
		}
	}
}

// absoluteZero is in millidegrees Celsius. Drivers say less for a reading that there is
// not (the kernel's own THERMAL_TEMP_INVALID is -274 degrees).
const absoluteZero = -273150

var fillZone = fillValue(func(text []byte) (int64, bool, fault) {
	v, f := integer(text)
	if f.why == "" && v < absoluteZero {
		f = fault{text, "below absolute zero"}
	}
	return v, true, f
})

// fillFault forgets the reading of a sensor that says of itself that it failed.
func fillFault(c *cell, b *schemas.Block) fault {
	text := bytes.TrimSpace(c.text)
	v, f := integer(text)
	if f.why != "" || v == 0 {
		return f
	}
	for _, row := range c.rows {
		forget(b, row, c.col, c.col+1)
	}
	return fault{text, "the sensor says that it failed"}
}
