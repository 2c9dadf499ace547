use super::*;

fn sample() -> Table {
    let mut table = Table::new("t", [("scheme", "scheme"), ("cycles", "cycles"), ("overhead", "overhead_ratio")]);
    table.row(["native", "100", "-"]);
    table.row(["nested", "12500", "+12.5 %"]);
    table.row(["short"]);
    table
}

#[test]
fn columns_align() {
    let expected = "scheme  cycles  overhead\nnative     100         -\nnested   12500   +12.5 %\nshort\n";
    assert_eq!(sample().to_string(), expected);
    assert_eq!(text(&sample(), Some(24)), expected, "it fits");
}

#[test]
fn columns_for_programs_are_not_shown() {
    let mut table = Table::new("t", [Column::exact("host"), Column::new("scheme", "scheme")]);
    table.row([Cell::exact("h"), Cell::text("native")]);
    assert_eq!(table.to_string(), "scheme\nnative\n");
}

#[test]
fn a_table_that_is_too_wide_has_its_rows_as_columns() {
    let mut table = Table::new("t", [("scheme", "scheme"), ("M cycles", "cycles"), ("overhead in percent", "o")]);
    table.row(["native", "100", "-"]);
    table.row(["nested", "12500", "+12.5 %"]);
    table.row(["shadow", "7", "+1.0 %"]);
    let first = "scheme               native   nested\nM cycles                100    12500\noverhead in percent       -  +12.5 %\n";
    let second = "scheme               shadow\nM cycles                  7\noverhead in percent  +1.0 %\n";
    assert_eq!(text(&table, Some(36)), first.to_owned() + "\n" + second);
}

#[test]
fn a_repeated_cell_is_shown_where_it_stands_alone() {
    let mut table = Table::new("t", [("workload", "workload"), ("scheme", "scheme")]);
    table.row([Cell::text("gups"), Cell::text("native")]);
    table.row([Cell::repeated("gups"), Cell::text("nested")]);
    assert_eq!(table.to_string(), "workload  scheme\ngups      native\n          nested\n");
    assert_eq!(text(&table, Some(16)), table.to_string(), "it fits");
    let turned = text(&table, Some(15));
    assert_eq!(turned.matches("gups").count(), 2, "{turned}");
}

#[test]
fn no_line_is_wider_than_the_terminal_and_nothing_is_lost() {
    let mut table = Table::new("t", [("a long heading of a column", "a"), ("b", "b"), ("why", "why")]);
    table.row(["gups", "12", &"reason ".repeat(40)]);
    table.row(["kv", "7", "-"]);
    table.row([&"x".repeat(200), "7", "-"]);
    for width in [20, 40, 80] {
        let text = text(&table, Some(width));
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        assert_eq!(text.split_whitespace().filter(|&word| word == "reason").count(), 40, "{text}");
        assert_eq!(text.matches('x').count(), 200, "{text}");
    }
}

#[test]
fn blocks_have_a_line_for_each_cell() {
    let mut table = Table::new("t", [("scheme", "scheme"), ("dimensions", "dimensions")]).shaped(Shape::Blocks);
    table.row(["native", "one two three four"]);
    table.row(["nested", "2"]);
    let name = format!("  {:<28}", "dimensions");
    assert_eq!(table.to_string(), format!("native\n{name}one two three four\n\nnested\n{name}2\n"));
    let space = " ".repeat(30);
    let narrow = text(&table, Some(40));
    assert!(narrow.starts_with(&format!("native\n{name}one two\n{space}three four\n")), "{narrow}");
}

#[test]
fn text_is_folded_between_words_with_its_indent() {
    assert_eq!(folded("  one two three\nfour\n", 9), "  one two\n  three\nfour\n");
    assert_eq!(folded("short\n\n", 9), "short\n\n");
}
