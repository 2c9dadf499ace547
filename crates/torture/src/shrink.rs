//! Cutting a failing program down while it fails.

use crate::program::{Node, Program};

/// A smaller program for which `fails` still holds: nodes are taken out, structures replaced by what they contain, and the starting
/// state cleared, until nothing more can go.
pub fn shrink(mut program: Program, fails: impl Fn(&Program) -> bool) -> Program {
    if !fails(&program) {
        // It fails only in company; reducing it alone would lose the failure.
        return program;
    }
    loop {
        let before = count(&program.nodes);
        let mut position = 0;
        while position < count(&program.nodes) {
            let smaller = [Cut::Remove, Cut::Unwrap].into_iter().find_map(|cut| {
                let mut candidate = program.clone();
                (cut_at(&mut candidate.nodes, &mut position.clone(), cut) && fails(&candidate)).then_some(candidate)
            });
            match smaller {
                Some(smaller) => program = smaller,
                None => position += 1,
            }
        }
        if count(&program.nodes) == before {
            break;
        }
    }
    clear_state(program, fails)
}

#[derive(Clone, Copy)]
enum Cut {
    Remove,
    Unwrap,
}

fn count(nodes: &[Node]) -> usize {
    nodes.iter().map(|node| 1 + node.body().map_or(0, |body| count(body))).sum()
}

/// Applies `cut` to the node at `position`, counted in depth-first order; false if it can not be.
fn cut_at(nodes: &mut Vec<Node>, position: &mut usize, cut: Cut) -> bool {
    for index in 0..nodes.len() {
        if *position == 0 {
            let removed = nodes.remove(index);
            return match cut {
                Cut::Remove => true,
                Cut::Unwrap => match removed.body() {
                    Some(body) => {
                        nodes.splice(index..index, body.iter().cloned());
                        true
                    }
                    None => false,
                },
            };
        }
        *position -= 1;
        if let Some(body) = nodes[index].body_mut() {
            let inside = count(body);
            if *position < inside {
                return cut_at(body, position, cut);
            }
            *position -= inside;
        }
    }
    false
}

fn clear_state(mut program: Program, fails: impl Fn(&Program) -> bool) -> Program {
    let words = 1 + 32 + 32 + program.start.scratch.len();
    for index in 0..words {
        let mut candidate = program.clone();
        let start = &mut candidate.start;
        let word = std::iter::once(&mut start.fcsr)
            .chain(&mut start.x)
            .chain(&mut start.f)
            .chain(&mut start.scratch)
            .nth(index);
        match word {
            Some(word) if *word != 0 => *word = 0,
            _ => continue,
        }
        if fails(&candidate) {
            program = candidate;
        }
    }
    program
}
