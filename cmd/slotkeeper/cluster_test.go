package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// cluster is a PostgreSQL of a test's own, with its durable settings, that may
// be killed.
type cluster struct {
	dir  string
	port string
	cred *syscall.Credential // who runs it when the tests run as root
	cmd  *exec.Cmd
	log  *lockedBuffer
}

// newCluster makes and starts a cluster in a directory of its own.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "slotkeeper-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{dir: dir, port: port, log: &lockedBuffer{}}
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2, os.Chown(dir, int(uid), int(gid))); err != nil {
			t.Fatal(err)
		}
		c.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	if out, err := c.command("initdb", "-D", filepath.Join(dir, "data"), "-U", "postgres", "-A", "trust", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	t.Cleanup(func() { c.signal(t, syscall.SIGINT) })
	c.start(t)
	return c
}

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(pgBinary(name), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.cred}
	return cmd
}

// pgBinary prefers the server's own folder, where Debian keeps the binaries.
func pgBinary(name string) string {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(found) == 0 {
		return name
	}
	return found[len(found)-1]
}

func (c *cluster) url() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%s/postgres?sslmode=disable", c.port)
}

// start starts the cluster and waits until it answers. After a kill the old
// processes take a moment to notice: until then a start fails and is tried again.
func (c *cluster) start(t *testing.T) {
	t.Helper()
	waitFor(t, "PostgreSQL to start", func() error {
		if c.cmd == nil {
			c.cmd = c.command("postgres", "-D", filepath.Join(c.dir, "data"), "-p", c.port, "-k", c.dir, "-c", "listen_addresses=127.0.0.1")
			c.cmd.Stderr = c.log
			if err := c.cmd.Start(); err != nil {
				t.Fatal(err)
			}
		}
		out, err := c.command("pg_isready", "-h", "127.0.0.1", "-p", c.port).CombinedOutput()
		if err == nil {
			return nil
		}
		var status syscall.WaitStatus
		if pid, werr := syscall.Wait4(c.cmd.Process.Pid, &status, syscall.WNOHANG, nil); werr == nil && pid == c.cmd.Process.Pid {
			c.cmd = nil
		}
		return fmt.Errorf("%w: %s%s", err, out, c.log)
	})
}

// kill ends the cluster as a power cut would end its processes.
func (c *cluster) kill(t *testing.T) {
	t.Helper()
	c.signal(t, syscall.SIGKILL)
}

func (c *cluster) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if c.cmd == nil {
		return
	}
	if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	_ = c.cmd.Wait()
	c.cmd = nil
}
