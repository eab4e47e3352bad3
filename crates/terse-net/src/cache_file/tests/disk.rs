//! Disks may be full, or become read-only. The tests make a file system of their own, for which they must run as root.

use std::process::Command;

use super::*;

/// A small file system in memory.
struct Disk {
    directory: TempDir,
}

impl Disk {
    /// Mounts a file system. Where that is impossible, it says so and returns `None`.
    fn new() -> Option<Self> {
        let directory = TempDir::new().expect("a directory");
        let disk = Self { directory };
        if disk.mount(&["-t", "tmpfs", "-o", "size=32k", "tmpfs"]) {
            return Some(disk);
        }
        let required = std::env::var_os("TERSE_REQUIRE_ALL").is_some_and(|value| value == "1");
        assert!(!required, "file systems cannot be mounted here");
        println!("skipped: file systems cannot be mounted here");
        None
    }

    fn mount(&self, options: &[&str]) -> bool {
        let mut command = Command::new("mount");
        command.args(options).arg(self.directory.path());
        command.output().is_ok_and(|output| output.status.success())
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("cache")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.directory.path()).output();
    }
}

fn commit(file: &CacheFile, n: u64) -> bool {
    file.commit(Commit::new(ticket(n), example().1, None, None)).is_ok()
}

/// Asserts that a change that cannot be saved is reported once and leaves the file as it was; and that after `mend`,
/// all changes since are saved.
fn goes_on(disk: &Disk, file: &CacheFile, expected: &str, mend: impl FnOnce()) {
    // There is still room in a page that the file already has.
    (100..300).find(|n| !commit(file, *n)).expect("no room");
    let before = fs::read(disk.path()).expect("readable");
    assert!(!commit(file, 2) && !commit(file, 3));
    let report = file.take_error().expect("a reason").to_string();
    assert!(report.contains(&disk.path().display().to_string()) && report.contains(expected), "{report}");
    assert!(!commit(file, 4) && file.take_error().is_none(), "told once");
    let known = |file: &CacheFile| [2, 3, 4, 5].map(|n| file.find(&ticket(n)).is_some());
    assert_eq!(known(file), [true, true, true, false]);
    assert_eq!(fs::read(disk.path()).expect("readable"), before);
    let left: Vec<_> = names(&disk.directory).into_iter().filter(|name| name.ends_with(".tmp")).collect();
    assert!(left.is_empty(), "{left:?}");
    mend();
    assert!(commit(file, 5) && file.take_error().is_none());
    let (again, damage) = open(&disk.path());
    assert_eq!((damage, known(&again)), (None, [true; 4]));
}

#[test]
fn full_disk_is_reported_once_and_leaves_the_file() {
    let Some(disk) = Disk::new() else { return };
    let (file, _) = open(&disk.path());
    assert!(commit(&file, 1));
    let filler = disk.directory.path().join("filler");
    assert!(fs::write(&filler, [0; 0x1_0000]).is_err(), "it is full now");
    goes_on(&disk, &file, "o space left", || fs::remove_file(&filler).expect("it is there"));
}

#[test]
fn disk_that_becomes_read_only_is_reported_once() {
    let Some(disk) = Disk::new() else { return };
    let (file, _) = open(&disk.path());
    assert!(commit(&file, 1));
    assert!(disk.mount(&["-o", "remount,ro"]));
    goes_on(&disk, &file, "ead-only file system", || assert!(disk.mount(&["-o", "remount,rw"])));
}

#[test]
fn read_only_disk_is_read() {
    let Some(disk) = Disk::new() else { return };
    let (file, _) = open(&disk.path());
    assert!(commit(&file, 1));
    assert!(disk.mount(&["-o", "remount,ro"]));
    let (file, damage) = open(&disk.path());
    assert_eq!(damage, None);
    assert!(file.find(&ticket(1)).is_some());
    goes_on(&disk, &file, "ead-only file system", || assert!(disk.mount(&["-o", "remount,rw"])));
}
