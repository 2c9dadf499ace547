//! Programs of `torture`, whose choices a fuzzer makes, on every engine.

use hart::{Engine, Hotness};
use testing::Random;
use torture::executor::Executor;
use torture::flat::Flat;
use torture::generate;
use torture::image::Image;

/// Runs the target.
///
/// # Panics
/// If an engine does not come to the program's end, or ends otherwise than the `match` engine.
pub fn run(input: &[u8]) {
    let program = generate::program_of(Random::of_input(input));
    let image = Image::new(&[program]);
    let run = |engine| {
        let records = Flat::new(engine).run(&image).unwrap_or_else(|error| panic!("{error}"));
        Image::states(&records)
    };
    let expected = run(Engine::Matching);
    for engine in [Engine::Threaded, Engine::Compiled(Hotness::ALL)] {
        assert!(run(engine) == expected, "{engine:?} differs:\n{}", generate::program_of(Random::of_input(input)));
    }
}
