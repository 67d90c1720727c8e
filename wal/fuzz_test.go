package wal

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Whatever is in a file, the scanner ends, gives only what stands there, and accounts
// for every byte.
func FuzzScan(f *testing.F) {
	var b []byte
	for _, r := range []Record{{Head, 3, []byte("head")}, {released, 3, make([]byte, 8)}, {Data, 4, body(4)}, {Data, 5, nil}} {
		b = appendRecord(b, r, 9)
	}
	f.Add(b, uint32(9))
	f.Add(b[:len(b)-3], uint32(9))
	f.Add(b, uint32(8))
	f.Add(bytes.Repeat([]byte{9, 0, 0, 0}, 100), uint32(0))
	f.Fuzz(func(t *testing.T, text []byte, salt uint32) {
		var s scanner
		s.begin(bytes.NewReader(text), salt, int64(len(text)))
		at := int64(0)
		for {
			r, passed, err := s.next()
			at += passed
			if err != nil {
				break
			}
			image := appendRecord(nil, r, salt)
			if !bytes.HasPrefix(text[at:], image) {
				t.Fatalf("at byte %d: record %+v does not stand there", at, r)
			}
			at += int64(len(image))
		}
		if at != int64(len(text)) {
			t.Fatalf("%d of %d bytes accounted for", at, len(text))
		}
	})
}

// However a log's file is damaged, each record of which no byte was touched is read.
func FuzzDamage(f *testing.F) {
	const n = 8
	var image []byte
	var ends []int
	for _, r := range records(1, n) {
		image = appendRecord(image, Record{Data, r.Seq, r.Body}, 7)
		ends = append(ends, len(image))
	}
	f.Add([]byte{1, 2, 3}, uint16(100), uint16(0))
	f.Add([]byte{255, 255, 255, 255}, uint16(ends[3]), uint16(40))
	f.Add(image[:ends[0]], uint16(ends[2]), uint16(0))
	f.Fuzz(func(t *testing.T, patch []byte, at, remove uint16) {
		from := int(at) % len(image)
		to := min(from+int(remove), len(image))
		damaged := slices.Concat(image[:from], patch, image[to:])
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, fileName(1, 7)), damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		var got []uint64
		l, err := Open(dir, Options{Visit: func(r Record) {
			if r.Kind == Data {
				got = append(got, r.Seq)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		begin := 0
		for i, end := range ends {
			if (end <= from || begin >= to) && !slices.Contains(got, uint64(i+1)) {
				t.Fatalf("record %d (bytes %d to %d) is lost, %d to %d became %x: %v", i+1, begin, end, from, to, patch, got)
			}
			begin = end
		}
	})
}
