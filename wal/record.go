package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// Kind says what a record is.
type Kind byte

// Kinds of records.
const (
	// Data is a record that waits to be released. Numbers begin with 1.
	Data Kind = 1
	// released says, as 8 bytes, up to which number all is done with.
	released Kind = 2
	// Head is what [Options.Head] gave at the beginning of a file.
	Head Kind = 3
)

// Record is one entry of the log.
type Record struct {
	Kind Kind
	// Seq is the number of a Data record; of others, that of the last one before.
	Seq  uint64
	Body []byte
}

// A record on disk is, little endian:
//
//	0   4  n, the bytes from 8 on
//	4   4  CRC-32C of all other bytes of the record, seeded with the file's salt
//	8   8  seq
//	16  1  kind
//	17     body
const (
	headerBytes = 17
	afterCRC    = 8
	// MaxBody bounds a record's body: the largest message that a nats-server can be
	// told to take, with room for what is kept beside it.
	MaxBody = 65 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(b []byte, salt uint32) uint32 {
	return crc32.Update(crc32.Update(salt, castagnoli, b[:4]), castagnoli, b[afterCRC:])
}

// appendRecord appends r as it stands in a file of that salt.
func appendRecord(dst []byte, r Record, salt uint32) []byte {
	at := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(headerBytes-afterCRC+len(r.Body)))
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, r.Seq)
	dst = append(append(dst, byte(r.Kind)), r.Body...)
	binary.LittleEndian.PutUint32(dst[at+4:], sum(dst[at:], salt))
	return dst
}

// decode returns the record at the beginning of b and its bytes; n is 0 if there is
// none. want is how many bytes it claims to have, 0 if it can't be one.
func decode(b []byte, salt uint32) (r Record, n, want int) {
	if len(b) < headerBytes {
		return r, 0, 0
	}
	after := binary.LittleEndian.Uint32(b)
	kind := Kind(b[16])
	if after < headerBytes-afterCRC || after > headerBytes-afterCRC+MaxBody || kind < Data || kind > Head || (kind == released && after != headerBytes-afterCRC+8) {
		return r, 0, 0
	}
	want = afterCRC + int(after)
	if len(b) < want || binary.LittleEndian.Uint32(b[4:]) != sum(b[:want], salt) {
		return r, 0, want
	}
	r = Record{Kind: kind, Seq: binary.LittleEndian.Uint64(b[8:]), Body: b[headerBytes:want:want]}
	if r.Kind == Data && r.Seq == 0 {
		return Record{}, 0, want
	}
	return r, want, want
}

// A scanner reads a file's records in order, and passes over bytes that are none.
type scanner struct {
	r    io.ReaderAt
	salt uint32
	off  int64 // of the next record
	end  int64
	mem  []byte
	buf  []byte // of mem: what was read from off on
	err  error  // why the rest can't be read
}

// begin makes the scanner begin with a file.
func (s *scanner) begin(r io.ReaderAt, salt uint32, end int64) {
	*s = scanner{r: r, salt: salt, end: end, mem: s.mem}
}

// chunk is how much a scanner reads at once, at least.
const chunk = 64 << 10

// next returns the next record, whose body is valid until the next call, and how many
// bytes before it belong to none. At the end, and where the file can't be read, it
// returns io.EOF.
func (s *scanner) next() (r Record, passed int64, err error) {
	for s.off < s.end {
		r, n, want := decode(s.peek(headerBytes), s.salt)
		if n == 0 && want > 0 && int64(want) <= s.end-s.off {
			r, n, _ = decode(s.peek(want), s.salt)
		}
		if n > 0 {
			s.skip(n)
			return r, passed, nil
		}
		if s.err != nil && len(s.buf) == 0 {
			passed += s.end - s.off
			s.off = s.end
			break
		}
		s.skip(1)
		passed++
	}
	return Record{}, passed, io.EOF
}

func (s *scanner) skip(n int) {
	s.off += int64(n)
	s.buf = s.buf[min(n, len(s.buf)):]
}

// peek returns what is known of the bytes from off on, at least n of them if there are
// so many.
func (s *scanner) peek(n int) []byte {
	if have := int64(len(s.buf)); have < int64(n) && s.off+have < s.end && s.err == nil {
		want := int(min(int64(max(n, chunk)), s.end-s.off))
		if cap(s.mem) < want {
			s.mem = make([]byte, want)
		}
		m, err := s.r.ReadAt(s.mem[:want], s.off)
		s.buf = s.mem[:m]
		if m < want {
			s.err = fmt.Errorf("at byte %d: %w", s.off+int64(m), err)
		}
	}
	return s.buf
}
