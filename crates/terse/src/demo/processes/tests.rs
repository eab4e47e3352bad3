//! The process is a shell, whose script is the only argument after `-c`.

use tempfile::TempDir;

use super::*;

struct Scene {
    folder: TempDir,
    runtime: tokio::runtime::Runtime,
}

impl Scene {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { folder: tempfile::tempdir().unwrap(), runtime }
    }

    fn start(&self, script: &str) -> Process {
        let arguments = [OsStr::new("-c"), OsStr::new(script)];
        Process::start(Path::new("/bin/sh"), "masa", &arguments, self.folder.path()).unwrap()
    }
}

/// Whether there is such a process, also one that nobody has reaped.
fn exists(id: u32) -> bool {
    Command::new("kill").args(["-0", &id.to_string()]).stderr(Stdio::null()).status().unwrap().success()
}

#[test]
fn a_service_says_where_it_listens_and_ends_with_its_guard() {
    let scene = Scene::new();
    let mut service = scene.start("echo listening 127.0.0.1:7; exec sleep 600");
    assert_eq!(scene.runtime.block_on(service.address()).unwrap(), "127.0.0.1:7");
    assert!(service.ended().is_none());
    let id = service.child.id();
    assert!(exists(id));
    drop(service);
    assert!(!exists(id));
}

#[test]
fn a_failure_has_the_words_of_the_process() {
    let scene = Scene::new();
    let script = "echo a warning >&2; echo 'terse: masa.toml: it is not there' >&2; exit 1";
    let expected = "step onboard: terse masa: masa.toml: it is not there";
    let address = scene.runtime.block_on(scene.start(script).address());
    assert_eq!(address.unwrap_err().to_string(), expected);
    let report = scene.runtime.block_on(scene.start(script).report());
    assert_eq!(report.unwrap_err().to_string(), expected);
    let mut service = scene.start(&format!("echo listening 127.0.0.1:7; {script}"));
    scene.runtime.block_on(service.address()).unwrap();
    let end = async {
        loop {
            match service.ended() {
                Some(failure) => return failure,
                None => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    };
    let ended = scene.runtime.block_on(async { tokio::time::timeout(Duration::from_secs(300), end).await });
    let ended = ended.expect("the process ends");
    assert_eq!(ended.to_string(), expected);
}

#[test]
fn a_report_is_the_last_line_of_a_process_that_succeeds() {
    let scene = Scene::new();
    let report = scene.runtime.block_on(scene.start("echo one; echo two; exec >&-; sleep 0.01").report());
    assert_eq!(report.unwrap(), "two");
    let silent = scene.runtime.block_on(scene.start("exit 0").address());
    assert_eq!(silent.unwrap_err().to_string(), "step onboard: terse masa: it has ended without a word");
}

/// Whoever stops waiting ends the process.
#[test]
fn a_process_that_says_nothing_is_killed() {
    let scene = Scene::new();
    let mut service = scene.start("exec sleep 600");
    let id = service.child.id();
    let waited = scene.runtime.block_on(async {
        let result = tokio::time::timeout(Duration::from_millis(20), service.address()).await;
        drop(service);
        result
    });
    assert!(waited.is_err() && !exists(id));
}
