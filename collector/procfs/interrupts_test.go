package procfs

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/steadybench/steady/schemas"
)

// interruptBlocks are the blocks of interrupts, interrupts_cpu and interrupt_cells.
func interruptBlocks() []schemas.Block {
	return []schemas.Block{{Table: &schemas.Interrupts}, {Table: &schemas.InterruptsCPU}, {Table: &schemas.InterruptCells}}
}

func TestParseInterrupts(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       string // "device count" of interrupts, of interrupts_cpu, of interrupt_cells
		skipped    int64
		example    string
		err        string
	}{
		{name: "CPU 2 is offline", text: "            CPU0       CPU1       CPU3       \n" +
			"  0:        131          0          0   IO-APIC-edge      timer\n 16:          7          8          9   IO-APIC-fasteoi   ahci\n" +
			"LOC:  812344556  712344556 4294967295   Local timer interrupts\nERR:          5\nMIS:          0\n",
			want: "0 131, 16 24, LOC 5819656407, ERR 5, MIS 0; 0 812344694, 1 712344564, 3 4294967304; " +
				"0/0 131, 0/1 0, 0/3 0, 16/0 7, 16/1 8, 16/3 9, LOC/0 812344556, LOC/1 712344556, LOC/3 4294967295"},
		{name: "one CPU", text: "           CPU0       \n  0:        131   IO-APIC   2-edge      timer\nLOC:          4   Local timer interrupts\nERR:          2\n",
			want: "0 131, LOC 4, ERR 2; 0 135; 0/0 131, LOC/0 4"},
		{name: "a name twice, numbers in the description", text: "CPU0 CPU1\nLOC: 1 2 timer\nIPI0: 5 6 1 Rescheduling\n 5: 7 8 16 Level x\nLOC: 10 20 others\n",
			want: "LOC 33, IPI0 -, 5 -; 0 -, 1 -; LOC/0 11, LOC/1 22", skipped: 2,
			example: `procfs: interrupts: line 3: field " 5 6 1 Rescheduling": not a number for each CPU of the heading`},
		{name: "a CPU went while it was written", text: "CPU0 CPU1\n1: 5 6 a\n2: 5 b\n3: 4\n",
			want: "1 11, 2 -, 3 4; 0 -, 1 -; 1/0 5, 1/1 6", skipped: 1,
			example: `procfs: interrupts: line 3: field " 5 b": not a number for each CPU of the heading`},
		{name: "a CPU came while it was written", text: "CPU0 CPU1\n1: 5 6 a\n2: 5 6 7 b\n",
			want: "1 11, 2 -; 0 -, 1 -; 1/0 5, 1/1 6", skipped: 1,
			example: `procfs: interrupts: line 3: field " 5 6 7 b": not a number for each CPU of the heading`},
		{name: "bad lines", text: "CPU0 CPU1\n1: x 6 a\nnothing\n2: 18446744073709551616 1 b\n : 1 2\n3: -1 2\n4: 18446744073709551615 1\n",
			want: "1 -, 2 -, 3 -, 4 0; 0 -, 1 -; 4/0 18446744073709551615, 4/1 1", skipped: 5,
			example: `procfs: interrupts: line 2: field " x 6 a": not a number for each CPU of the heading`},
		{name: "a name twice, once bad", text: "CPU0 CPU1\nLOC: 1 2 a\nLOC: x\nRES: 3 4 b\n", want: "LOC -, RES 7; 0 -, 1 -; RES/0 3, RES/1 4", skipped: 1,
			example: `procfs: interrupts: line 3: field " x": not a number for each CPU of the heading`},
		{name: "cut off", text: "CPU0 CPU1\n1: 5 6 a\n2: 5", want: "1 11; 0 -, 1 -; 1/0 5, 1/1 6", skipped: 1,
			example: `procfs: interrupts: line 3: field "2: 5": cut off`},
		{name: "no interrupts", text: "CPU0 CPU1\n", want: "; 0 0, 1 0; "},
		{name: "empty", err: `procfs: interrupts: line 1: field "": no whole line`},
		{name: "no heading", text: "1: 5 6 a\n", err: `procfs: interrupts: line 1: field "1:": not a CPU`},
		{name: "no CPU", text: "  \n", err: `procfs: interrupts: line 1: field "  ": no CPU`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p interruptFiles
			blocks := interruptBlocks()
			other := "CPU0 CPU1\nLOC: 1 2 a\n5: 6 7 b\nERR: 8\n9: 1 2 c\n"
			for _, text := range []string{tt.text, tt.text, other, tt.text} {
				var bad skips
				err := p.parseInterrupts(&blocks[0], &blocks[1], &blocks[2], []byte(text), &bad)
				if text == other {
					continue
				}
				if bad.lines != tt.skipped || bad.example != tt.example {
					t.Errorf("skipped %d: %s, want %d: %s", bad.lines, bad.example, tt.skipped, tt.example)
				}
				if (err != nil || tt.err != "") && (err == nil || err.Error() != tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				if err != nil {
					continue
				}
				var got []string
				for i := range blocks {
					var of []string
					for r, device := range blocks[i].Devices {
						v, _, _ := strings.Cut(row(&blocks[i], r), " ")
						if i == 2 && v == "-1" {
							v = "18446744073709551615"
						}
						if v != "-" || i < 2 {
							of = append(of, device+" "+v)
						}
					}
					got = append(got, strings.Join(of, ", "))
				}
				if got := strings.Join(got, "; "); got != tt.want {
					t.Errorf("got %s\nwant %s", got, tt.want)
				}
			}
		})
	}
}

// Softirqs have columns of all CPUs that are possible, those that are offline too.
func TestParseSoftirqs(t *testing.T) {
	const online = "CPU0 CPU3\n1: 5 6 a\n"
	for _, tt := range []struct {
		name, text string
		want       map[string]int64 // by CPU and column
		skipped    int64
		example    string
	}{
		{name: "Linux 3.10", text: "                CPU0       CPU1       CPU3\n      HI:          0          1          2\nBLOCK_IOPOLL:          3          4          5\n     NEW:          3          4          5\n",
			want: map[string]int64{"0/softirq_hi": 0, "3/softirq_hi": 2, "0/softirq_irq_poll": 3, "3/softirq_irq_poll": 5}},
		{name: "another order, one CPU unknown", text: "CPU3\nRCU: 7\nIRQ_POLL: 4294967295\n",
			want: map[string]int64{"3/softirq_rcu": 7, "3/softirq_irq_poll": 4294967295}},
		{name: "bad lines", text: "CPU0 CPU3\nHI: 1\nTIMER: 1 2 3\nSCHED: x 1\nRCU: 1 2\nRCU: 3 4\nTASKLET 1 2\nBLOCK: 1 18446744073709551616\nNET_RX: 1 2",
			want: map[string]int64{"0/softirq_rcu": 1, "3/softirq_rcu": 2}, skipped: 7,
			example: `procfs: softirqs: line 2: field " 1": not a number for each CPU of the heading`},
		{name: "empty", skipped: 1, example: `procfs: softirqs: line 1: field "": no whole line`},
		{name: "no heading", text: "HI: 1 2\n", skipped: 1, example: `procfs: softirqs: line 1: field "HI:": not a CPU`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p interruptFiles
			blocks := interruptBlocks()
			for range 2 {
				if err := p.parseInterrupts(&blocks[0], &blocks[1], nil, []byte(online), new(skips)); err != nil {
					t.Fatal(err)
				}
				var bad skips
				p.parseSoftirqs(&blocks[1], []byte(tt.text), &bad)
				if bad.lines != tt.skipped || bad.example != tt.example {
					t.Errorf("skipped %d: %s, want %d: %s", bad.lines, bad.example, tt.skipped, tt.example)
				}
				got := make(map[string]int64)
				for key, v := range cells(&blocks[1]) {
					if cpu, ok := strings.CutPrefix(key, "interrupts_cpu/"); ok && !strings.HasSuffix(key, "/interrupts") {
						got[cpu] = v
					}
				}
				if !maps.Equal(got, tt.want) {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			}
		})
	}
}

// CPUs and interrupts come and go; a tick that was handed on keeps its lists.
func TestInterruptsComeAndGo(t *testing.T) {
	var p interruptFiles
	blocks := interruptBlocks()
	var held, want [][]string
	for _, tt := range []struct{ text, devices, cells string }{
		{"CPU0 CPU1\n1: 1 2 a\nERR: 5\n2: 3 4 b\n", "1 ERR 2", "1/0 1/1 2/0 2/1"},
		{"CPU0 CPU1\n1: 1 2 a\nERR: 5\n2: 3 4 b\n3: 1 1 c\n", "1 ERR 2 3", "1/0 1/1 2/0 2/1 3/0 3/1"},
		{"CPU0 CPU1\n1: 1 2 a\nERR: 5\n3: 1 1 c\n", "1 ERR 3", "1/0 1/1 3/0 3/1"},
		{"CPU0\n1: 1 a\nERR: 5\n3: 1 c\n", "1 ERR 3", "1/0 3/0"},
		{"CPU0 CPU8\n1: 1 4 a\nERR: 5\n3: 1 1 c\n", "1 ERR 3", "1/0 1/8 3/0 3/8"},
		{"CPU0 CPU8\n1: 1 4 a\nERR: 5\n", "1 ERR", "1/0 1/8"},
		{"CPU0 CPU8\n", "", ""},
	} {
		if err := p.parseInterrupts(&blocks[0], &blocks[1], &blocks[2], []byte(tt.text), new(skips)); err != nil {
			t.Fatal(err)
		}
		for i, devices := range map[int]string{0: tt.devices, 2: tt.cells} {
			held, want = append(held, blocks[i].Devices), append(want, strings.Fields(devices))
			if n := len(blocks[i].Devices); len(blocks[i].Values) != n || len(blocks[i].Known) != n {
				t.Errorf("%q: %d values, %d marks", devices, len(blocks[i].Values), len(blocks[i].Known))
			}
		}
	}
	for i := range held {
		if !slices.Equal(held[i], want[i]) {
			t.Errorf("%q, want %q", held[i], want[i])
		}
	}
}
