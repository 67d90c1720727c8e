package campaign

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Facts returns what a reader of the results must know of this host; what it doesn't
// say is left out.
func Facts() map[string]string {
	f := map[string]string{"cpus": strconv.Itoa(runtime.NumCPU())}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		f["kernel"] = unix.ByteSliceToString(u.Release[:])
		f["architecture"] = unix.ByteSliceToString(u.Machine[:])
	}
	set := func(name, path, key, sep string) {
		if v := lookup(path, key, sep); v != "" {
			f[name] = v
		}
	}
	set("os", "/etc/os-release", "PRETTY_NAME", "=")
	set("cpu_model", "/proc/cpuinfo", "model name", ":")
	set("memory", "/proc/meminfo", "MemTotal", ":")
	for name, path := range map[string]string{
		"command_line": "/proc/cmdline",
		"governor":     "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
		"clock_source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
	} {
		if b, err := os.ReadFile(path); err == nil {
			f[name] = strings.TrimSpace(string(b))
		}
	}
	for name, path := range map[string]string{
		"thp":        "/sys/kernel/mm/transparent_hugepage/enabled",
		"thp_defrag": "/sys/kernel/mm/transparent_hugepage/defrag",
	} {
		b, _ := os.ReadFile(path)
		if v, ok := chosen(string(b)); ok {
			f[name] = v
		}
	}
	return f
}

// chosen returns which of a setting's values holds: the one in brackets.
func chosen(text string) (value string, ok bool) {
	_, s, _ := strings.Cut(text, "[")
	value, _, ok = strings.Cut(s, "]")
	return value, ok
}

// lookup returns the value of the first line that begins with key.
func lookup(path, key, sep string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	for in := bufio.NewScanner(file); in.Scan(); {
		if k, v, ok := strings.Cut(in.Text(), sep); ok && strings.TrimSpace(k) == key {
			return strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return ""
}
