package main

import (
	"os"
	"testing"
)

func TestStateDirectory(t *testing.T) {
	home, root := "/home/u/.local/state/steady", os.Geteuid() == 0
	if root {
		home = "/var/lib/steady"
	}
	for _, tt := range []struct{ systemd, xdg, want string }{
		{"/var/lib/a:/var/lib/b", "/x", "/var/lib/a"},
		{"", "/x", "/x/steady"},
		{"", "", home},
	} {
		t.Setenv("STATE_DIRECTORY", tt.systemd)
		t.Setenv("XDG_STATE_HOME", tt.xdg)
		t.Setenv("HOME", "/home/u")
		if got, err := stateDir(); err != nil || got != tt.want {
			t.Errorf("%+v: %s, %v", tt, got, err)
		}
	}
}
