//! Reads the files of vectors that the build has made.

use terse_provider_suite::wycheproof::Outcome;

/// A vector with `N` fields.
pub(crate) struct Vector<const N: usize> {
    /// Its number in its file.
    pub(crate) number: u32,
    pub(crate) outcome: Outcome,
    pub(crate) fields: [&'static [u8]; N],
}

/// Returns the vectors of a file. Panics if the file has another form.
pub(crate) fn vectors<const N: usize>(mut file: &'static [u8]) -> impl Iterator<Item = Vector<N>> {
    core::iter::from_fn(move || {
        if file.is_empty() {
            return None;
        }
        let number = take_number(&mut file);
        let outcome = match take(&mut file, 1) {
            [0] => Outcome::Valid,
            [1] => Outcome::Invalid,
            _ => Outcome::Acceptable,
        };
        assert_eq!(take(&mut file, 1), [N as u8]);
        let fields = [(); N].map(|()| {
            let len = take_number(&mut file) as usize;
            take(&mut file, len)
        });
        Some(Vector { number, outcome, fields })
    })
}

fn take_number(file: &mut &'static [u8]) -> u32 {
    u32::from_le_bytes(take(file, 4).try_into().expect("4 bytes"))
}

fn take(file: &mut &'static [u8], len: usize) -> &'static [u8] {
    file.split_off(..len).expect("a whole vector")
}
