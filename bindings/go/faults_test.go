// SPDX-License-Identifier: Apache-2.0
// Each call that the library makes of the C library fails, once and for good, under the functions of
// this package: a proper error, nothing leaks, the source stays valid, the next call works.

package dlbridge_test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

// stopped are the statuses of a failure of the system.
var stopped = []dlbridge.Status{dlbridge.StatusOutOfMemory, dlbridge.StatusUnsupported,
	dlbridge.StatusUnavailable, dlbridge.StatusNotFound, dlbridge.StatusDescriptor}

// inFaultyProcess runs the test in a process of its own, since hooks stay and first uses fail too.
// DLBRIDGE_FAULTS names the library of tests/faults/hooks.c.
func inFaultyProcess(t *testing.T, test func(*testing.T)) {
	path := os.Getenv("DLBRIDGE_FAULTS")
	if path == "" {
		t.Skip("DLBRIDGE_FAULTS is not set")
	}
	if os.Getenv("DLBRIDGE_FAULTS_CHILD") != t.Name() {
		child := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
		child.Env = append(os.Environ(), "DLBRIDGE_FAULTS_CHILD="+t.Name())
		output, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(output), "PASS") {
			t.Fatalf("%v\n%s", err, output)
		}
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if hooked := ctest.LoadFaults(path); hooked < 10 {
		t.Fatalf("%d functions are hooked: the library's calls are not seen", hooked)
	}
	test(t)
}

// faulty makes the steps of a case while calls fail.
type faulty struct {
	first    int // The first call of a step that fails.
	forever  bool
	failures int
}

func isStopped(step, answer object) bool {
	status, _ := answer["status"].(string)
	known := slices.ContainsFunc(stopped, func(s dlbridge.Status) bool { return s.String() == status })
	return known && status != step["expect"].(object)["status"] &&
		answer["rule"] == dlbridge.RuleNone.String() && answer["message"] != ""
}

// call makes a step again and again, each time with its next call failing, until none fails any more.
func (f *faulty) call(w *world, step object) object {
	deletes := w.deletes()
	for nth := f.first; nth < 1000; nth++ {
		ctest.ArmFaults(nth, f.forever)
		answer := w.call(step)
		failed := ctest.DisarmFaults()
		f.failures += failed
		if failed == 0 || !isStopped(step, answer) {
			return answer
		}
		if !maps.Equal(w.deletes(), deletes) {
			return object{"status": "a call that failed has released a tensor"}
		}
	}
	return object{"status": "the step makes too many calls"}
}

// run returns the number of failures in a case, and what is wrong.
func (f *faulty) run(t *testing.T, test testCase) (int, string) {
	f.failures = 0
	held := ctest.LibraryHolds()
	_, wrong := runCaseBy(t, test, f.call)
	if wrong == "" && ctest.LibraryHolds() != held {
		wrong = "the library keeps memory"
	}
	return f.failures, wrong
}

func failEachCall(t *testing.T, forever bool) {
	all := 0
	for _, test := range readCorpus(t) {
		if test.ABI {
			continue
		}
		for first, failures := 1, 1; failures != 0; first++ {
			f := &faulty{first: first, forever: forever}
			var wrong string
			failures, wrong = f.run(t, test)
			all += failures
			if wrong == "the library keeps memory" {
				// What is made once for the process is not made a second time.
				_, wrong = f.run(t, test)
			}
			if wrong != "" {
				t.Errorf("%s, from call %d: %s", test.Name, first, wrong)
				break
			}
		}
	}
	t.Logf("%d calls failed", all)
	if all < 1000 {
		t.Errorf("only %d calls failed", all)
	}
}

func TestEachCallOfTheLibraryFailsOnce(t *testing.T) {
	inFaultyProcess(t, func(t *testing.T) { failEachCall(t, false) })
}

func TestAllCallsOfTheLibraryFail(t *testing.T) {
	inFaultyProcess(t, func(t *testing.T) { failEachCall(t, true) })
}

// ownedByCallback is an object that a callback refers to.
type ownedByCallback struct{ text [64]byte }

// After a failure nothing refers to a callback any more, so that Go collects it.
func TestCallbacksOfFailedCallsAreCollected(t *testing.T) {
	inFaultyProcess(t, func(t *testing.T) {
		memory := ctest.AlignedAlloc(64, 64)
		defer ctest.Free(memory)
		spec := func(kept *ownedByCallback) dlbridge.WrapSpec {
			return dlbridge.WrapSpec{Buffer: dlbridge.Buffer{Handle: dlbridge.HandleOf(memory)},
				Device: dlbridge.CPU, DType: dlbridge.DTypeOf[float32](),
				Shape:   []int64{4},
				Release: func(dlbridge.Buffer, dlbridge.Stream) { kept.text[0]++ }}
		}
		context := uint64(0)
		for name, call := range map[string]func(*ownedByCallback) error{
			"wrap":        func(k *ownedByCallback) error { _, err := dlbridge.Wrap(spec(k)); return err },
			"wrap legacy": func(k *ownedByCallback) error { _, err := dlbridge.WrapLegacy(spec(k)); return err },
			"register": func(k *ownedByCallback) error {
				context++
				_, err := dlbridge.ContextRegister(dlbridge.ContextEntry{
					Backend: dlbridge.BackendCUDA, Device: dlbridge.Device{Type: dlbridge.DeviceCUDA},
					Context: dlbridge.UnsafeHandle(context), NativeDevice: dlbridge.UnsafeHandle(1),
					Release: func(dlbridge.ContextEntry) { k.text[0]++ }})
				return err
			},
		} {
			collected, err := attempt(call)
			// The table grows by doubling, so one of many registrations fails.
			for err == nil && context < 5000 {
				collected, err = attempt(call)
			}
			if !errors.Is(err, dlbridge.StatusOutOfMemory) {
				t.Fatalf("%s: %v", name, err)
			}
			runtime.GC()
			select {
			case <-collected:
			case <-time.After(20 * time.Second):
				t.Errorf("%s: the callback is still referred to", name)
			}
		}
	})
}

// attempt makes a call without memory, with an object that is sent to the channel when it is collected.
func attempt(call func(*ownedByCallback) error) (<-chan bool, error) {
	collected := make(chan bool, 1)
	kept := &ownedByCallback{}
	runtime.AddCleanup(kept, func(done chan bool) { done <- true }, collected)
	ctest.ArmFaults(1, true)
	err := call(kept)
	ctest.DisarmFaults()
	return collected, err
}

// A message of a tensor for another process has file descriptors, none of which is left after a failure.
func TestMessagesFail(t *testing.T) {
	inFaultyProcess(t, func(t *testing.T) {
		tensor := must(dlbridge.Allocate(dlbridge.AllocateSpec{Shape: []int64{3},
			DType: dlbridge.DTypeOf[float32](), Options: dlbridge.AllocateShareable}))(t)
		failures := 0
		files := len(must(os.ReadDir("/proc/self/fd"))(t))
		for nth, failed := 1, 1; failed != 0; nth++ {
			held := ctest.LibraryHolds()
			failed = exportAndImport(t, tensor, nth)
			failures += failed
			if nth > 1 && !reflect.DeepEqual(ctest.LibraryHolds(), held) {
				t.Errorf("call %d: the library keeps memory", nth)
			}
		}
		if left := len(must(os.ReadDir("/proc/self/fd"))(t)); left != files || failures < 5 {
			t.Errorf("%d failures, %d files before, %d after", failures, files, left)
		}
		if err := tensor.Close(); err != nil {
			t.Error(err)
		}
	})
}

// exportAndImport lets the nth call of an export, and then of an import, fail.
func exportAndImport(t *testing.T, tensor *dlbridge.Tensor, nth int) int {
	ctest.ArmFaults(nth, false)
	message, files, err := tensor.ExportIPC(0)
	failed := ctest.DisarmFaults()
	if err != nil {
		if failed == 0 || message != nil || files != nil {
			t.Error(err)
		}
		message, files, err = tensor.ExportIPC(0)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctest.ArmFaults(nth, false)
	imported, err := dlbridge.ImportIPC(message, files, 0, nil)
	failedThen := ctest.DisarmFaults()
	if err != nil {
		if failedThen == 0 || imported != nil {
			t.Error(err)
		}
		imported, err = dlbridge.ImportIPC(message, files, 0, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := imported.Close(); err != nil {
		t.Error(err)
	}
	for _, file := range files {
		_ = file.Close()
	}
	return failed + failedThen
}
