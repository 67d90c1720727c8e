package campaign

import "testing"

func TestChosen(t *testing.T) {
	for text, want := range map[string]string{"always [madvise] never\n": "madvise", "[always] madvise never\n": "always",
		"always defer defer+madvise madvise [never]\n": "never", "always\n": "", "": "", "[always": ""} {
		if got, ok := chosen(text); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, ok, want)
		}
	}
}
