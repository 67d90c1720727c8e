package procfs

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// The addresses are those that sensors 3.6.0 prints, but that of MDIO, which it reads as
// decimal.
func TestBusAddress(t *testing.T) {
	for _, tt := range []struct{ bus, device, want string }{
		{"platform", "coretemp.1", "isa-0001"}, {"platform", "nct6775.656", "isa-0290"}, {"platform", "thinkpad_hwmon", "isa-0000"},
		{"platform", "PNP0C14:00", "isa-0000"}, {"platform", "scpi:sensors", "isa-0000"}, {"of_platform", "foo.12", "isa-000c"},
		{"pci", "0000:00:18.3", "pci-00c3"}, {"pci", "0000:5e:00.0", "pci-5e00"}, {"pci", "0001:40:1f.3", "pci-140fb"},
		{"i2c", "3-0050", "i2c-3-50"}, {"i2c", "12-004c", "i2c-12-4c"}, {"spi", "spi0.1", "spi-0-1"}, {"acpi", "ACPI000D:00", "acpi-0"},
		{"hid", "0003:1B1C:0C10.0007", "hid-3-7"}, {"scsi", "8:0:0:0", "scsi-8-0"}, {"scsi", "2:1:3:4", "scsi-2-134"},
		{"mdio_bus", "c000000.ethernet-mii:05", "mdio-5"}, {"mdio_bus", "mdio-0:1f", "mdio-1f"},
		{"i2c", "foo", ""}, {"pci", "foo", ""}, {"mdio_bus", "foo", ""}, {"nvme", "nvme0", ""}, {"", "foo", ""},
	} {
		got, ok := busAddress(tt.bus, tt.device)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s of %s: %q, %v, want %q", tt.device, tt.bus, got, ok, tt.want)
		}
	}
}

// Chips as some kernels and drivers show them.
func TestChips(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "sys/class/hwmon")
	// A chip of no device.
	write(t, "bar\n", dir, "hwmon0/name")
	write(t, "-40000\n", dir, "hwmon0/temp1_input")
	// Attributes at the device, as before Linux 3.15.
	write(t, "coretemp\n", root, "sys/devices/platform/coretemp.0/name")
	write(t, "61000\n", root, "sys/devices/platform/coretemp.0/temp2_input")
	write(t, "Core 0\n", root, "sys/devices/platform/coretemp.0/temp2_label")
	write(t, "\n", root, "sys/devices/platform/coretemp.0/hwmon/hwmon1/uevent")
	symlink(t, "../../../coretemp.0", root, "sys/devices/platform/coretemp.0/hwmon/hwmon1/device")
	symlink(t, "../../devices/platform/coretemp.0/hwmon/hwmon1", dir, "hwmon1")
	symlink(t, "../../../bus/platform", root, "sys/devices/platform/coretemp.0/subsystem")
	// A chip without a name, and one of a sensor's name that is none.
	write(t, "5\n", dir, "hwmon2/temp1_input")
	write(t, "foo\n", dir, "hwmon3/name")
	write(t, "5\n", dir, "hwmon3/temp_input")
	write(t, "5\n", dir, "hwmon3/tempx_input")
	write(t, "5\n", dir, "hwmon3/temp1_max")
	// Switched on again, a sensor that says that it failed.
	write(t, "7000\n", dir, "hwmon0/temp2_input")
	write(t, "1\n", dir, "hwmon0/temp2_fault")

	if err := os.Mkdir(filepath.Join(root, "proc"), 0o777); err != nil {
		t.Fatal(err)
	}
	s := open(t, newHost(root, Options{}))
	want := map[string]int64{"bar-virtual-0/temp1/temp_degc": -40000, "coretemp-isa-0000/Core 0/temp_degc": 61000}
	if got := of("temperature", s.tick(0)); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	write(t, "0\n", dir, "hwmon0/temp2_fault")
	want["bar-virtual-0/temp2/temp_degc"] = 7000
	if got := of("temperature", s.tick(second)); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n, example := s.source("temperature").(*tree).Skipped(); n != 1 {
		t.Errorf("%d: %s", n, example)
	}
}

func symlink(tb testing.TB, target string, path ...string) {
	tb.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		tb.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		tb.Fatal(err)
	}
}
