//! What an image consists of: its sections, and its symbols by the crate that they come from.

use std::collections::HashMap;
use std::fmt::Write as _;

use object::read::elf::ElfFile32;
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, SectionFlags, SectionKind, SymbolKind};

use crate::Entry;
use crate::owner::{owner, path};

/// An image.
pub(crate) struct Image {
    /// Code and constants.
    code: u64,
    /// What the start copies from flash to RAM.
    data: u64,
    /// What the start fills with zeros, with the heap.
    bss: u64,
    /// Bytes of code and constants that have a name, with the name.
    symbols: Vec<(u64, String)>,
}

impl Image {
    /// Reads an ELF file.
    pub(crate) fn read(file: &ElfFile32<'_, Endianness>) -> Result<Self, object::Error> {
        let mut image = Self { code: 0, data: 0, bss: 0, symbols: Vec::new() };
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
            if sh_flags & u64::from(object::elf::SHF_ALLOC) == 0 {
                continue;
            }
            match section.kind() {
                SectionKind::UninitializedData => image.bss += section.size(),
                SectionKind::Data => image.data += section.size(),
                _ => image.code += section.size(),
            }
        }
        // Functions that are alike are one, with several names.
        let mut places = HashMap::new();
        for symbol in file.symbols().filter(|symbol| matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data)) {
            let is_kept = symbol.section_index().is_some_and(|index| {
                file.section_by_index(index).is_ok_and(|section| section.kind() != SectionKind::UninitializedData)
            });
            if is_kept && symbol.size() > 0 {
                places.insert(symbol.address(), (symbol.size(), symbol.name()?.to_owned()));
            }
        }
        image.symbols = places.into_values().map(|(size, name)| (size, demangled(&name))).collect();
        image.symbols.sort_by(|a, b| b.cmp(a));
        Ok(image)
    }

    /// Returns the bytes of flash.
    pub(crate) const fn flash(&self) -> u64 {
        self.code + self.data
    }

    /// Returns a symbol that counts for a path with one of these beginnings.
    pub(crate) fn find(&self, beginnings: &[&str]) -> Option<&str> {
        let mut names = self.symbols.iter().map(|(_, name)| &**name);
        names.find(|name| beginnings.iter().any(|beginning| path(name).starts_with(beginning)))
    }

    /// Returns bytes by crate, the most first. What has no name is in none: strings and tables.
    fn by_crate(&self) -> Vec<(String, u64)> {
        let mut sums = HashMap::<String, u64>::new();
        for (size, name) in &self.symbols {
            *sums.entry(owner(name)).or_default() += size;
        }
        let named: u64 = sums.values().sum();
        sums.insert("(strings and tables without a name)".into(), self.flash().saturating_sub(named));
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        sums
    }

    /// Lists the largest symbols.
    pub(crate) fn symbols(&self, count: usize) -> String {
        self.symbols.iter().take(count).map(|(size, name)| format!("{size:>8}  {name}\n")).collect()
    }
}

fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

/// Returns the table of sections.
pub(crate) fn sizes(entries: &[Entry], images: Vec<Image>) -> (String, Vec<Image>) {
    let rows: Vec<_> = entries
        .iter()
        .zip(images)
        .map(|(Entry { name, what, .. }, image)| (format!("`{name}`: {what}"), image))
        .collect();
    let table = rows_of("image", &rows);
    (table, rows.into_iter().map(|(_, image)| image).collect())
}

/// Returns a table of sections with these rows.
pub(crate) fn rows_of(what: &str, rows: &[(String, Image)]) -> String {
    let mut table = format!("| {what} | flash | code and constants | data | bss |\n|---|---:|---:|---:|---:|\n");
    for (name, image) in rows {
        let [flash, code, data, bss] = [image.flash(), image.code, image.data, image.bss].map(thousands);
        let _ = writeln!(table, "| {name} | {flash} | {code} | {data} | {bss} |"); // a string takes it
    }
    table
}

/// Returns a table with the flash of these rows alone.
pub(crate) fn flash_of(what: &str, rows: &[(String, Image)]) -> String {
    let mut table = format!("| {what} | flash | code and constants | data |\n|---|---:|---:|---:|\n");
    for (name, image) in rows {
        let [flash, code, data] = [image.flash(), image.code, image.data].map(thousands);
        let _ = writeln!(table, "| {name} | {flash} | {code} | {data} |"); // a string takes it
    }
    table
}

/// Returns the table of the largest crates, in the order of the first image.
pub(crate) fn crates(entries: &[Entry], images: &[Image], count: usize) -> String {
    let sums: Vec<_> = images.iter().map(Image::by_crate).collect();
    let mut listed: Vec<&str> = Vec::new();
    for (name, _) in sums.iter().flat_map(|sums| sums.iter().take(count)) {
        if !listed.contains(&&**name) {
            listed.push(name);
        }
    }
    let header: String = entries.iter().map(|Entry { name, .. }| format!(" `{name}` |")).collect();
    let mut table = format!("| crate |{header}\n|---|{}\n", "---|".repeat(entries.len()));
    for name in listed {
        let size = |sums: &Vec<(String, u64)>| sums.iter().find(|(own, _)| own == name).map_or(0, |(_, size)| *size);
        let sizes: String = sums.iter().map(|sums| format!(" {} |", thousands(size(sums)))).collect();
        let _ = writeln!(table, "| {name} |{sizes}"); // a string takes it
    }
    table
}

/// Writes a number with a comma before each three digits.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}
