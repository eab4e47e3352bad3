//! A table whose places are used again: its entries are named by numbers.

/// The entries.
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Adds an entry, and returns its number.
    pub(super) fn insert(&mut self, entry: T) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(entry);
                place
            }
            None => {
                self.places.push(Some(entry));
                (self.places.len() - 1) as u32
            }
        }
    }

    pub(super) fn get(&self, place: u32) -> Option<&T> {
        self.places.get(place as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    /// Removes an entry. Its number may name another one from now on.
    pub(super) fn remove(&mut self, place: u32) -> Option<T> {
        let entry = self.places.get_mut(place as usize)?.take()?;
        self.free.push(place);
        Some(entry)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }
}
