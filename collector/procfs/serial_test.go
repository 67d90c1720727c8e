package procfs

import (
	"testing"

	"github.com/steadybench/steady/schemas"
)

func TestParseSerial(t *testing.T) {
	const heading = "serinfo:1.0 driver revision:\n"
	for _, tt := range []struct {
		name, text string
		want       result
	}{
		{"errors that are 0 are left out", heading + "0: uart:16550A port:000003F8 irq:4 tx:218 rx:7 RTS|CTS|DTR|DSR|CD\n1: uart:16550A mmio:0xFE03E000 irq:16 tx:1 rx:2 fe:3 pe:4 brk:5 oe:6 RTS\n",
			result{devices: []string{"0", "1"}, rows: []string{"7 218 0 0 0 0", "2 1 3 4 5 6"}}},
		{"no chip, no permission", heading + "0: uart:unknown port:000003E8 irq:4\n1: uart:16550A port:000002F8 irq:3\n", result{}},
		{"32 bits, printed with a sign", heading + "0: uart:16550A irq:4 tx:-1 rx:-2147483648 fe:2147483647\n",
			result{devices: []string{"0"}, rows: []string{"2147483648 4294967295 2147483647 0 0 0"}}},
		{"bad lines", heading + "0: uart:x tx:1 rx:x\n1: tx:1\nx: tx:1 rx:1\n2: tx:-2147483649 rx:1\n3: tx:4294967296 rx:1\n4: tx:1 rx:1 tx:1\n5: tx:1 rx:2\nnothing\n6: tx:1 rx:1",
			result{devices: []string{"0", "1", "2", "3", "4", "5"}, rows: []string{"- - - - - -", "- - - - - -", "- - - - - -", "- - - - - -", "- - - - - -", "2 1 0 0 0 0"},
				skipped: 8, example: `procfs: tty/driver/serial: line 2: field "x": not a number`}},
		{"empty", "", result{err: `procfs: tty/driver/serial: line 1: field "": no whole line`}},
		{"another file", "Filename Type\n", result{err: `procfs: tty/driver/serial: line 1: field "Filename Type": not the heading of serial lines`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := schemas.Block{Table: &schemas.Serial}
			var bad skips
			var got result
			got.of(&b, &bad, parseSerial(&b, []byte(tt.text), &bad))
			got.check(t, tt.want)
		})
	}
}
