// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dlbridge/bindings/go/conformance"
	"dlbridge/bindings/go/conformance/internal/sample"
)

var emulated = conformance.Device{Type: 12} // kDLExtDev

func TestLibrary(t *testing.T) {
	conformance.Test(t, sample.Library{}, conformance.Settings{
		Name: "a library in Go", Rounds: 500, TimeLimit: time.Minute, Unsupported: conformance.FeatureStrides,
		QueueDevice: emulated,
	})
}

// Each planted fault is found. The processes run this test again, and find their project by its name.
func TestFaults(t *testing.T) {
	for _, fault := range []struct {
		name     string
		fault    sample.Fault
		check    string
		severity int32
		found    string
	}{
		{"loses READ_ONLY", sample.LosesReadOnly, "read-only-flag", 2, "0"},
		{"never releases", sample.NeverReleases, "deleter-once", 3, "0"},
		{"panics", sample.Panics, "layout-plain", 4, `a rejection: "panic: planted"`},
		{"hangs", sample.Hangs, "layout-plain", 1, "no end within 500 ms"},
		{"crashes", sample.Crashes, "layout-plain", 1, ""},
		{"ignores the consumer's queue", sample.IgnoresTheConsumer, "stream-export-host", 4, ""},
		{"reads at once", sample.ReadsAtOnce, "stream-import", 4, ""},
		{"releases at once", sample.ReleasesAtOnce, "stream-release", 2, ""},
		{"has no stream", sample.HasNoStream, "table-members", 1, "NULL"},
	} {
		settings := conformance.Settings{
			Name: fault.name, Only: fault.check, Rounds: 100, TimeLimit: 500 * time.Millisecond,
			QueueDevice: emulated,
			Command:     []string{os.Args[0], "-test.run=^TestFaults$", "-test.count=1"},
		}
		report, err := conformance.Run(sample.Library{Fault: fault.fault}, settings)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Results) == 0 {
			continue // a process of another project
		}
		result := report.Results[0]
		if report.Success() || result.Outcome != conformance.Failed || result.Severity != fault.severity ||
			!strings.Contains(result.Found, fault.found) || result.Found == "" {
			t.Errorf("%s: %+v", fault.name, result)
		}
		if fault.check != "table-members" && !strings.Contains(result.Reproducer, "DLManagedTensor") {
			t.Errorf("%s: reproducer %q", fault.name, result.Reproducer)
		}
	}
}

// Every check of queues and of the table runs and passes.
func TestQueuesAndTable(t *testing.T) {
	for _, group := range []string{"stream-", "table-"} {
		report, err := conformance.Run(sample.Library{}, conformance.Settings{
			Name: group, Only: group, Rounds: 100, QueueDevice: emulated,
			Command: []string{os.Args[0], "-test.run=^TestQueuesAndTable$", "-test.count=1"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, result := range report.Results {
			if result.Outcome != conformance.Passed {
				t.Errorf("%s: %v: %s", result.Check, result.Outcome, result.Found)
			}
		}
	}
}

func TestReports(t *testing.T) {
	folder := t.TempDir()
	settings := conformance.Settings{
		Name: "reports", Only: "scalar", TAP: filepath.Join(folder, "tap"), JUnit: filepath.Join(folder, "xml"),
		DTypes: []conformance.DType{{Code: 2, Bits: 32, Lanes: 1}},
	}
	report, err := conformance.Run(sample.Library{}, settings)
	if err != nil || !report.Success() {
		t.Fatal(report, err)
	}
	tap, _ := os.ReadFile(settings.TAP)
	if !strings.HasPrefix(string(tap), "TAP version 14\n") || !strings.Contains(string(tap), "ok 1 - scalar") {
		t.Errorf("TAP: %s", tap)
	}
	if xml, _ := os.ReadFile(settings.JUnit); !strings.Contains(string(xml), `<testsuite name="reports">`) {
		t.Errorf("JUnit: %s", xml)
	}
}

func TestWrongSettings(t *testing.T) {
	for _, settings := range []conformance.Settings{
		{},
		{Name: "x", Only: "no such check"},
		{Name: "x", Quirks: "/nonexistent/quirks.toml"},
	} {
		if _, err := conformance.Run(sample.Library{}, settings); err == nil {
			t.Errorf("%+v was accepted", settings)
		}
	}
}
