//! The kind of file system of a directory, which decides what syncing to disk takes.

use std::fs;
use std::path::Path;

/// Returns the kind, such as `ext4`, as Linux lists it.
pub(super) fn of(directory: &Path) -> String {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.into());
    find(&fs::read_to_string("/proc/mounts").unwrap_or_default(), &directory).unwrap_or("unknown").to_owned()
}

/// Finds the mount that the directory is on: the longest, and of several at one place the last.
fn find<'a>(mounts: &'a str, directory: &Path) -> Option<&'a str> {
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let mounts = fields.filter_map(|fields| Some((*fields.get(1)?, *fields.get(2)?)));
    let over = mounts.filter(|(place, _)| directory.starts_with(place));
    over.max_by_key(|(place, _)| place.len()).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_counts() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /run tmpfs rw 0 0\n/dev/b /run/data xfs rw 0 0\n/dev/c /run/data btrfs rw 0 0\n";
        for (directory, kind) in [("/tmp", "ext4"), ("/run/x", "tmpfs"), ("/run/data/x", "btrfs"), ("/runner", "ext4")]
        {
            assert_eq!(find(mounts, Path::new(directory)), Some(kind), "{directory}");
        }
        assert_eq!(find("", Path::new("/tmp")), None);
    }
}
