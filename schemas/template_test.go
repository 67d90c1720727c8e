package schemas

import (
	"bytes"
	"testing"
)

// What a template makes is what Arrow's writer makes, whatever the tick before was.
func TestTemplateMakesWhatArrowDoes(t *testing.T) {
	e := NewEncoder(testProducer)
	used := 0
	for seed := range uint64(200) {
		tick := ticksOf(seed, 1)[0]
		tick.Seq = int64(seed * seed)
		if seed%7 != 3 { // else with typed rows, which a template doesn't do
			tick.Rows = nil
		}
		switch seed % 11 {
		case 4: // nothing is unknown
			for i := range tick.Blocks {
				for j := range tick.Blocks[i].Known {
					tick.Blocks[i].Known[j] = true
				}
			}
		case 5: // another layout
			tick.Blocks = tick.Blocks[:3]
		case 6:
			for i := range tick.Blocks {
				tick.Blocks[i].Gap = true
			}
		}
		was := e.template
		got, err := e.Encode([]*Tick{tick})
		if err != nil {
			t.Fatal(err)
		}
		if e.template == nil {
			t.Fatal("no template of what Arrow wrote")
		}
		if e.template == was && tick.Rows == nil {
			used++
		}
		if want := encode(t, []*Tick{tick}); !bytes.Equal(got, want) {
			t.Fatalf("tick %d: other bytes", seed)
		}
	}
	if used < 100 {
		t.Errorf("used %d times", used)
	}
}

// A stream that is not the expected one has no template.
func TestNoTemplateOfAnotherStream(t *testing.T) {
	tick := ticksOf(1, 1)[0]
	tick.Rows = nil
	e := NewEncoder(testProducer)
	if _, err := e.Encode([]*Tick{tick}); err != nil {
		t.Fatal(err)
	}
	stream := bytes.Clone(e.raw.Bytes())
	if newTemplate(stream, tick) == nil {
		t.Fatal("none of the stream itself")
	}
	short := *tick
	short.Blocks = short.Blocks[1:]
	if newTemplate(stream, &short) != nil {
		t.Error("one with fewer blocks")
	}
	for n := range len(stream) - 8 {
		if newTemplate(stream[:n], tick) != nil {
			t.Fatalf("one of %d bytes", n)
		}
	}
}

func TestEncodingATickAllocatesItsPayload(t *testing.T) {
	tick := ticksOf(1, 1)[0]
	tick.Rows = nil
	e := NewEncoder(testProducer)
	in := []*Tick{tick}
	if _, err := e.Encode(in); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { e.Encode(in) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}
