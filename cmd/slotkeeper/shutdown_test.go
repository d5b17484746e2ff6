package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Somebody who sends half a request and then nothing keeps the server from ending
// neither for long nor well; nor do those who only follow a page.
func TestHalfARequestDoesNotHoldTheEnd(t *testing.T) {
	t.Parallel()
	long(t)
	s := newServer(t, "")
	a := s.connect(t, "generic")
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// Expect has the server say that it waits for the body.
	_, err = fmt.Fprintf(conn, "POST /webhooks/generic/%s HTTP/1.1\r\nHost: x\r\nX-Event-Id: 1\r\nX-Signature: 0\r\nContent-Length: 500\r\nExpect: 100-continue\r\n\r\n", a.id)
	if err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewReader(conn)
	if line, err := answer.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("answered %q, %v", line, err)
	}
	if _, err := io.WriteString(conn, `{"half":`); err != nil {
		t.Fatal(err)
	}

	began, cmd := time.Now(), s.cmd
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.exited:
	case <-time.After(bodyTimeout + 5*time.Second):
		t.Fatalf("it still runs after %s", time.Since(began))
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ends with %d:\n%s", code, s.log)
	}
	if res, err := http.ReadResponse(answer, nil); err == nil {
		defer res.Body.Close()
		if res.StatusCode < http.StatusBadRequest {
			t.Errorf("half a body is answered %s", res.Status)
		}
	}
}
