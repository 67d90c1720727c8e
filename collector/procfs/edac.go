package procfs

import "path/filepath"

// edacFinder finds the memory controllers that report errors.
func edacFinder(h *host) finder {
	return func(l *layout) {
		const dir = "devices/system/edac/mc"
		for _, name := range l.entries(h, dir, "mc") {
			l.sources(filepath.Join(h.sys, dir, name), l.row(name, ""), fillNumber)
		}
	}
}
