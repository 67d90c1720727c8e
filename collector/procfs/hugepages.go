package procfs

import (
	"path/filepath"
	"strconv"
	"strings"
)

// hugePagesFinder finds the sizes of huge pages, if there is more than one.
func hugePagesFinder(h *host) finder {
	return func(l *layout) {
		const dir = "kernel/mm/hugepages"
		sizes := l.entries(h, dir, "hugepages-")
		if len(sizes) == 1 {
			l.cause = filepath.Join(h.sys, dir) + " has only the default size: it is in table memory"
			return
		}
		for _, name := range sizes {
			size := strings.TrimPrefix(name, "hugepages-")
			kb, err := strconv.ParseInt(strings.TrimSuffix(size, "kB"), 10, 32)
			if err != nil {
				continue
			}
			l.sources(filepath.Join(h.sys, dir, name), l.row(size, ""), fillPages(kb<<10))
		}
	}
}

// fillPages fills a column in bytes from a number of pages of that size.
func fillPages(size int64) filler {
	return fillValue(func(text []byte) (int64, bool, fault) {
		n, f := integer(text)
		if f.why == "" && (n < 0 || n > 1<<62/size) {
			f = fault{text, outOfRange}
		}
		return n * size, true, f
	})
}
