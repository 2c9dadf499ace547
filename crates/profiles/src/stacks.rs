//! Call stacks by function. Calls of one function from several places in another one are the same stack.

use std::collections::HashMap;

/// The number of a stack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct StackId(usize);

/// A stack: the number of its innermost function's name, and the stack of that function's caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Stack {
    symbol: usize,
    outer: Option<StackId>,
}

/// The call stacks of a profile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stacks {
    stacks: Vec<Stack>,
    /// The stack that each caller of the profile is the innermost of.
    of_callers: Vec<StackId>,
}

impl Stacks {
    /// Of callers, each with the number of its function's name and its own caller, which comes before it.
    pub(crate) fn new(callers: impl Iterator<Item = (usize, Option<usize>)>) -> Self {
        let (mut made, mut ids) = (Self::default(), HashMap::new());
        for (symbol, caller) in callers {
            let stack = Stack { symbol, outer: caller.map(|caller| made.of_callers[caller]) };
            let id = *ids.entry(stack).or_insert_with(|| {
                made.stacks.push(stack);
                StackId(made.stacks.len() - 1)
            });
            made.of_callers.push(id);
        }
        made
    }

    /// The stack that a caller is the innermost of.
    pub(crate) fn of_caller(&self, caller: usize) -> StackId {
        self.of_callers[caller]
    }

    /// The numbers of the names of a stack's functions, the outermost first.
    pub(crate) fn symbols(&self, stack: Option<StackId>) -> Vec<usize> {
        let chain = std::iter::successors(stack, |stack| self.stacks[stack.0].outer);
        let mut symbols: Vec<usize> = chain.map(|stack| self.stacks[stack.0].symbol).collect();
        symbols.reverse();
        symbols
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_in_the_same_functions_are_one_stack() {
        // 7 calls 8 at two places, and 8 calls 9 in each of them.
        let stacks = Stacks::new([(7, None), (7, None), (8, Some(0)), (8, Some(1)), (9, None)].into_iter());
        assert_eq!(stacks.of_caller(2), stacks.of_caller(3));
        assert_ne!(stacks.of_caller(0), stacks.of_caller(4));
        assert_eq!(stacks.symbols(Some(stacks.of_caller(3))), [7, 8]);
        assert_eq!(stacks.symbols(None), [0; 0]);
    }
}
