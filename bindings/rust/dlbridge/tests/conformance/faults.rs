// SPDX-License-Identifier: Apache-2.0
//! The corpus while calls that the library makes of the C library fail: `DLBRIDGE_FAULTS` names the
//! library of tests/faults/hooks.c. Without it, and on other systems, nothing is tried.
//!
//! Each step is tried again and again, each time with the next call failing, until none fails any
//! more. A step that a failure has stopped has released nothing and left its inputs as they were:
//! the next try, and the rest of the case, give the answers that the corpus expects.

use crate::world::World;
use serde_json::{json, Value};
use std::ffi::{c_char, c_int, c_void, CString};
use std::mem::transmute;

extern "C" {
    fn dlopen(path: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The functions of hooks.h.
pub struct Hooks {
    arm: unsafe extern "C" fn(i64, c_int),
    disarm: unsafe extern "C" fn() -> i64,
    live: unsafe extern "C" fn(*mut [i64; 2]),
}

impl Hooks {
    /// Loads and installs the hooks, which stay for the rest of the process.
    pub fn load(path: &str) -> Self {
        let path = CString::new(path).unwrap();
        // SAFETY: the functions are those of hooks.h.
        unsafe {
            let library = dlopen(path.as_ptr(), 2);
            assert!(!library.is_null(), "{path:?} cannot be loaded");
            let find = |name: &str| {
                let found = dlsym(library, CString::new(name).unwrap().as_ptr());
                assert!(!found.is_null(), "{name}");
                found
            };
            let install: unsafe extern "C" fn(*const c_char) -> c_int =
                transmute(find("faults_install"));
            let hooked = install(c"libdlbridge.so".as_ptr());
            assert!(hooked > 10, "the library's calls are not seen");
            Self {
                arm: transmute::<*mut c_void, unsafe extern "C" fn(i64, c_int)>(find("faults_arm")),
                disarm: transmute::<*mut c_void, unsafe extern "C" fn() -> i64>(find(
                    "faults_disarm",
                )),
                live: transmute::<*mut c_void, unsafe extern "C" fn(*mut [i64; 2])>(find(
                    "faults_live",
                )),
            }
        }
    }

    /// The blocks and mappings that the library has not given back.
    pub fn held(&self) -> [i64; 2] {
        let mut held = [0; 2];
        // SAFETY: two integers, as in the header.
        unsafe { (self.live)(&raw mut held) };
        held
    }

    /// Makes `call` while its nth call of the C library fails, and with `forever` all later ones.
    /// Returns the number of failures, too.
    pub fn fail<R>(&self, nth: i64, forever: bool, call: impl FnOnce() -> R) -> (R, i64) {
        // SAFETY: the hooks concern this thread.
        unsafe { (self.arm)(nth, c_int::from(forever)) };
        let result = call();
        // SAFETY: as above.
        (result, unsafe { (self.disarm)() })
    }
}

/// Whether a step ended with a status that stands for a failure of the system.
fn is_stopped(step: &Value, answer: &Value) -> bool {
    const STATUSES: [&str; 4] =
        ["ERROR_OUT_OF_MEMORY", "ERROR_UNSUPPORTED", "ERROR_UNAVAILABLE", "ERROR_NOT_FOUND"];
    let status = &answer["status"];
    STATUSES.iter().any(|known| status == known)
        && *status != step["expect"]["status"]
        && answer["rule"] == "NONE"
        && answer["message"] != ""
}

/// The first call of each step that fails, and whether all later ones fail too.
#[derive(Clone, Copy)]
pub struct Fault {
    pub first: i64,
    pub forever: bool,
}

/// Makes a step until nothing fails; adds the number of calls that failed to `failures`.
pub fn call(
    hooks: &Hooks,
    fault: Fault,
    step: &Value,
    world: &mut World,
    failures: &mut i64,
) -> Value {
    let deletes = world.deletes();
    for nth in fault.first..1000 {
        let (answer, failed) = hooks.fail(nth, fault.forever, || crate::call(step, world));
        *failures += failed;
        if failed == 0 || !is_stopped(step, &answer) {
            return answer;
        }
        if world.deletes() != deletes {
            return json!({"status": "a call that failed has released a tensor"});
        }
    }
    json!({"status": "the step makes too many calls"})
}

/// Runs the named test of this program in a process of its own, in which first uses fail too; true
/// in that process.
pub fn in_own_process(test: &str) -> bool {
    if std::env::var_os("DLBRIDGE_FAULTS").is_none() {
        return false;
    }
    if std::env::var("DLBRIDGE_FAULTS_CHILD").as_deref() == Ok(test) {
        return true;
    }
    let program = std::env::current_exe().expect("this program");
    let mut child = std::process::Command::new(program);
    child.args(["--exact", test]).env("DLBRIDGE_FAULTS_CHILD", test);
    let output = child.output().expect("this program runs again");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    false
}
