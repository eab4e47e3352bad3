//! What a request says about itself and about the messages that follow it, without a schedule (RFC 8480, 3.3).

use super::super::message::{Answer, CellList, Command, Request, ReturnCode};

/// Checks what can be checked of a request without a schedule (RFC 8480, 3.3.1 to 3.3.3).
pub(super) fn check(request: &Request) -> Result<(), ReturnCode> {
    let (Request::Add(change) | Request::Delete(change) | Request::Relocate(change, _)) = request else {
        return Ok(());
    };
    if !change.cell_options.is_valid() {
        return Err(ReturnCode::RC_ERR);
    }
    let num_cells = usize::from(change.num_cells);
    let is_enough = |list: &CellList| (list.is_empty() || list.len() >= num_cells) && !list.has_repetitions();
    let lists_are_possible = match request {
        Request::Relocate(change, candidates) => {
            num_cells > 0
                && change.cell_list.len() == num_cells
                && !change.cell_list.has_repetitions()
                && is_enough(candidates)
        }
        _ => is_enough(&change.cell_list),
    };
    if lists_are_possible { Ok(()) } else { Err(ReturnCode::RC_ERR_CELLLIST) }
}

pub(super) const fn changes(request: &Request) -> bool {
    matches!(request, Request::Add(_) | Request::Delete(_) | Request::Relocate(..))
}

/// Returns how many cells a request is for.
pub(super) fn wanted(request: &Request) -> usize {
    match request {
        Request::Add(change) | Request::Delete(change) | Request::Relocate(change, _) => change.num_cells.into(),
        _ => 0,
    }
}

/// Whether a response has the fields that belong to the command.
pub(super) const fn fits(request: &Request, answer: &Answer) -> bool {
    match request.command() {
        Command::Add | Command::Delete | Command::Relocate | Command::List => matches!(answer, Answer::Cells(_)),
        Command::Count => matches!(answer, Answer::NumCells(_)),
        Command::Signal => matches!(answer, Answer::Payload(_)),
        Command::Clear => matches!(answer, Answer::Nothing),
    }
}

/// Whether a response names cells that the request named, and no more than it wanted. Other requests name none.
pub(super) fn is_subset(request: &Request, cells: &CellList) -> bool {
    let of = |list: &CellList| {
        list.is_empty() || cells.len() <= wanted(request) && cells.iter().all(|cell| list.contains(cell))
    };
    match request {
        Request::Add(change) | Request::Delete(change) => of(&change.cell_list),
        Request::Relocate(_, candidates) => of(candidates),
        _ => true,
    }
}
