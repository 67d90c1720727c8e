package bus

import (
	"fmt"
	"os"
	"testing"
)

// The variable is still the server's: another release may have none of that name, and
// then Quiet does nothing.
func TestQuietReachesTheServer(t *testing.T) {
	if want := fmt.Sprintf("/proc/%d/stat", os.Getpid()); serverStat != want {
		t.Errorf("the server reads %q, want %q: look how it samples its process now", serverStat, want)
	}
}
