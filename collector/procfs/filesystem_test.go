package procfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/steadybench/steady/collector"
	"github.com/steadybench/steady/schemas"
)

func TestLocalMounts(t *testing.T) {
	const root = "1 0 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"
	for _, tt := range []struct {
		name, text string
		want       []string // mount points, and sources that matter
		skipped    int64
		example    string
		err        string
	}{
		{name: "local ones only", text: root + "2 1 0:4 / /proc rw - proc proc rw\n3 1 0:40 / /nfs rw - nfs4 server:/x rw\n4 1 0:41 / /ssh rw - fuse.sshfs /dev/x rw\n" +
			"5 1 0:42 / /auto rw - autofs /dev/x rw\n6 1 0:43 / /cluster rw - gfs2 /dev/x rw\n7 1 8:2 / /ntfs rw - fuseblk /dev/sdb rw\n8 1 0:44 / /fuse rw - fuse /dev/fuse rw\n9 1 0:45 / /over rw - overlay overlay rw\n",
			want: []string{"/", "/ntfs"}},
		{name: "zfs and btrfs", text: root + "2 1 0:45 /@home /home rw - btrfs /dev/sdb rw\n3 1 0:45 /@data /data rw - btrfs /dev/sdb rw\n4 1 0:50 / /tank rw - zfs tank rw\n5 4 0:51 / /tank/db rw - zfs tank/db rw\n",
			want: []string{"/", "/home", "/tank", "/tank/db"}},
		{name: "the whole before a part of it", text: "1 0 0:60 / / rw - overlay overlay rw\n2 1 8:2 /var/lib/x/hosts /etc/hosts rw - ext4 /dev/sdb rw\n3 1 8:2 / /data rw - ext4 /dev/sdb rw\n4 1 8:2 / /again rw - ext4 /dev/sdb rw\n",
			want: []string{"/data"}},
		{name: "a part where there is no more", text: "1 0 0:60 / / rw - overlay overlay rw\n2 1 8:2 /var/lib/x/hosts /etc/hosts rw - ext4 /dev/sdb rw\n3 1 8:2 /var/lib/x/resolv /etc/resolv.conf rw - ext4 /dev/sdb rw\n",
			want: []string{"/etc/hosts"}},
		{name: "escapes", text: root + "2 1 8:2 / /a\\040b\\011c\\012d\\134e\\9 rw - ext4 /dev/sd\\043b rw\n", want: []string{"/", "/a b\tc\nd\\e\\9"}},
		{name: "no optional fields, several of them", text: "1 0 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n2 1 8:2 / /b rw shared:1 master:2 propagate_from:3 - ext4 /dev/sdb rw\n", want: []string{"/", "/b"}},
		{name: "a source without a name", text: root + "2 1 0:46 / /b rw - tmpfs  /dev/x\n", want: []string{"/"}},
		{name: "another mount on top", text: root + "2 1 8:2 / /mnt rw - ext4 /dev/sdb rw\n3 2 0:40 / /mnt rw - nfs4 server:/x rw\n", want: []string{"/"}},
		{name: "another mount on the way", text: root + "2 1 8:2 / /mnt/a/b rw - ext4 /dev/sdb rw\n3 1 0:40 / /mnt/a rw - nfs4 server:/x rw\n4 1 8:3 / /mnt/ab rw - ext4 /dev/sdc rw\n", want: []string{"/", "/mnt/ab"}},
		{name: "another mount on top of the way", text: root + "2 1 8:2 / /a rw - ext4 /dev/sdb rw\n3 2 8:3 / /a/b rw - ext4 /dev/sdc rw\n4 2 0:40 / /a rw - nfs4 server:/x rw\n", want: []string{"/"}},
		{name: "on a mount that is on top", text: root + "2 1 8:2 / /a rw - ext4 /dev/sdb rw\n3 2 8:3 / /a/x rw - ext4 /dev/sdc rw\n4 2 8:4 / /a rw - ext4 /dev/sdd rw\n5 4 8:5 / /a/x/y rw - ext4 /dev/sde rw\n", want: []string{"/", "/a", "/a/x/y"}},
		{name: "two at one place of the same mount", text: root + "2 1 8:2 / /a rw - ext4 /dev/sdb rw\n3 1 8:3 / /a rw - ext4 /dev/sdc rw\n", want: []string{"/", "/a /dev/sdc"}},
		{name: "the root after what is on it", text: "2 1 0:4 / /proc rw - proc proc rw\n3 1 8:2 / /data rw - ext4 /dev/sdb rw\n1 0 8:1 / / rw - ext4 /dev/sda1 rw\n", want: []string{"/data", "/"}},
		{name: "bad lines", text: root + "x 1 8:2 / /b rw - ext4 /dev/sdb rw\n2 1 8:2 / /b rw ext4 /dev/sdb rw\n\n3 1 8:2 / /c rw - ext4 /dev/sdb rw\n4 1 8:3 / /d rw - ext4 /dev/sdc", want: []string{"/", "/c"}, skipped: 4,
			example: `procfs: self/mountinfo: line 2: field "x": not a number`},
		{name: "a circle", text: "1 2 8:1 / /a rw - ext4 /dev/a rw\n2 1 8:2 / /a/b rw - ext4 /dev/b rw\n3 3 8:3 / /c rw - ext4 /dev/c rw\n", want: []string{"/c"}},
		{name: "empty", err: `procfs: self/mountinfo: line 1: field "": no whole line`},
		{name: "first line bad", text: "rootfs / rootfs rw 0 0\n", err: `procfs: self/mountinfo: line 1: field "rootfs": not a number`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var bad skips
			mounts, err := localMounts([]byte(tt.text), &bad)
			if (err != nil || tt.err != "") && (err == nil || err.Error() != tt.err) {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			var got []string
			for i, m := range mounts {
				if got = append(got, m.point); i < len(tt.want) && strings.HasSuffix(tt.want[i], " "+m.source) {
					got[i] += " " + m.source
				}
			}
			if !slices.Equal(got, tt.want) || bad.lines != tt.skipped || bad.example != tt.example {
				t.Errorf("%q, skipped %d: %s, want %q, %d: %s", got, bad.lines, bad.example, tt.want, tt.skipped, tt.example)
			}
		})
	}
}

func TestFilesystemRows(t *testing.T) {
	p := filesystems{root: "/host", mounts: []mount{{line: 1, point: "/", name: []byte("/")}, {line: 2, point: "/b", name: []byte("/b")}}}
	p.findPaths()
	if got := fmt.Sprintf("%q", p.paths); got != `["/host\x00" "/host/b\x00"]` {
		t.Errorf("paths %s", got)
	}
	for _, tt := range []struct {
		name string
		buf  unix.Statfs_t
		err  error
		want result
	}{
		{"blocks of Frsize", unix.Statfs_t{Bsize: 4096, Frsize: 512, Blocks: 10, Bfree: 6, Bavail: 5, Files: 100, Ffree: 90}, nil,
			result{devices: []string{"/", "/b"}, rows: []string{"5120 3072 2560 100 90", "5120 3072 2560 100 90"}}},
		{"blocks of Bsize, no inodes", unix.Statfs_t{Bsize: 4096, Blocks: 10, Bfree: 6, Bavail: 5}, nil,
			result{devices: []string{"/", "/b"}, rows: []string{"40960 24576 20480 - -", "40960 24576 20480 - -"}}},
		{"no blocks", unix.Statfs_t{Bsize: 4096, Files: 5}, nil, result{}},
		{"too many", unix.Statfs_t{Bsize: 4096, Blocks: 1 << 62, Bfree: 6, Bavail: 1 << 63, Files: 1 << 63, Ffree: 1}, nil,
			result{devices: []string{"/", "/b"}, rows: []string{"- 24576 - - 1", "- 24576 - - 1"}, skipped: 2, example: `procfs: self/mountinfo: line 1: field "/": out of range`}},
		{"no permission", unix.Statfs_t{}, unix.EACCES, result{devices: []string{"/", "/b"}, rows: []string{"- - - - -", "- - - - -"}, skipped: 2,
			example: `procfs: self/mountinfo: line 1: field "/": permission denied`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.statfs = func(_ []byte, buf *unix.Statfs_t) error {
				*buf = tt.buf
				return tt.err
			}
			b := schemas.Block{Table: &schemas.Filesystem}
			var bad skips
			var got result
			p.sample(&b, &bad)
			got.of(&b, &bad, nil)
			got.check(t, tt.want)
		})
	}
}

// It is the kernel's statfs.
func TestStatfs(t *testing.T) {
	var got, want unix.Statfs_t
	if err := unix.Statfs("/proc", &want); err != nil {
		t.Fatal(err)
	}
	if err := statfs([]byte("/proc\x00"), &got); err != nil || got.Type != want.Type || got.Bsize != want.Bsize || got.Namelen != want.Namelen {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if err := statfs([]byte("/none of this name\x00"), &got); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A list of mounts is read only when the kernel says that it changed, and again when a
// reading failed.
func TestMountsAreReadWhenTheyChange(t *testing.T) {
	const again = "STEADY_TEST_MOUNTS"
	if dir := os.Getenv(again); dir != "" {
		mountAndLook(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), again+"="+t.TempDir())
	// In name spaces of its own, where it may mount, and nothing stays.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL) {
		t.Skipf("it needs a mount name space, which this user may not have: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

func mountAndLook(t *testing.T, dir string) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	sources, absent, err := Sources("/", collector.Now, Options{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(sources, func(s collector.Source) bool { return s.Name() == "filesystem" })
	if i < 0 {
		t.Fatal(absent)
	}
	s := sources[i].(*source)
	b := newBlocks(s)
	look := func(readings int, mounted bool) {
		t.Helper()
		for range 3 {
			if err := s.Sample(b); err != nil {
				t.Fatal(err)
			}
		}
		if s.files[0].readings != readings || slices.Contains(b[0].Devices, dir) != mounted {
			t.Errorf("%d readings, mounts %q; want %d, %s %v", s.files[0].readings, b[0].Devices, readings, dir, mounted)
		}
	}
	look(1, false)
	if err := unix.Mount("/dev/test", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	look(2, true)
	if n := testing.AllocsPerRun(100, func() { s.Sample(b) }); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	look(3, false)
	if err := unix.Mount("/dev/test", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	whole := s.files[0].r
	s.files[0].r = &fake{read: func(int) (string, error) { return "", unix.EIO }}
	if err := s.Sample(b); !errors.Is(err, unix.EIO) {
		t.Error(err)
	}
	s.files[0].r = whole
	look(4, true)
	if err := unix.Unmount(dir, 0); err != nil {
		t.Fatal(err)
	}
	look(5, false)
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o666); err != nil { // it is free again
		t.Error(err)
	}
}
