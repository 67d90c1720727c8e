package loaders

import (
	"os"
	"testing"
	"time"
)

// What sysstat prints of a sample with all activities, 2 CPUs and 4 interfaces.
func BenchmarkReadSysstat(b *testing.B) {
	for _, file := range []string{"restart_sadf_j_A.json", "restart_sadf_d_A.csv", "restart_sar_A.txt"} {
		b.Run(file, func(b *testing.B) {
			text, err := os.ReadFile("testdata/sysstat/" + file)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readSysstat(b, file, ForeignOptions{Zone: time.UTC}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
