//! The picture of a walk's tables in the walk explorer, in headless Chromium.

mod browser;
mod common;

use browser::Page;
use common::{Scratch, run};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Walks of Sv48 on both sides under every kind of scheme.
fn comparison(scratch: &Scratch) -> PathBuf {
    let html = scratch.text("walks.html");
    let arguments = "compare --workload gups:4M --append updates=10000 --memory 256M --set paging.guest=sv48 --set paging.host=sv48x4 \
         --scheme native,nested,nested:4K+2M,shadow,flat,reserved,vmm-direct,guest-direct,dual-direct,native-segment --html";
    run(arguments.split_whitespace().chain([html.as_str()])).succeeded();
    scratch.path("walks.html")
}

/// Chooses a scheme, and whether caches are `whole` (empty) or `cached`.
fn choose(page: &mut Page, scheme: &str, caches: &str) {
    page.evaluate(&format!(
        "(() => {{ const select = document.querySelector('[data-scheme]'); \
             select.value = [...select.options].find((option) => option.value.startsWith('{scheme}')).value; \
             select.dispatchEvent(new Event('change')); document.querySelector('[name=memo][value={caches}]').click(); }})()"
    ));
}

/// Numbers of the first panel's picture: tables, tables that caches spare, and what is marked as the current step and as read before.
const COUNTS: &str = "(() => { const nodes = document.querySelector('.nodes'); \
     return ['.node', '.node.spared', '.now', '.done'].map((which) => nodes.querySelectorAll(which).length); })()";

/// How many references and how many answers without any the walk has.
const SUMMARY: &str = "(() => { const text = document.querySelector('[data-summary]').textContent; \
     return [/with (\\d+) ref/, /and (\\d+) answer/].map((found) => Number(text.match(found)?.[1] ?? 0)); })()";

#[test]
#[ignore = "needs chromium"]
fn each_reference_of_a_walk_is_a_table_of_its_picture() {
    let scratch = Scratch::new();
    let mut page = Page::open(&comparison(&scratch), 1200, "light");
    for scheme in [
        "native:4K",
        "nested:4K+4K",
        "nested:4K+2M",
        "shadow",
        "flat",
        "reserved",
        "vmm-direct",
        "guest-direct",
        "dual-direct",
        "native-segment",
    ] {
        choose(&mut page, scheme, "whole");
        let (counts, summary) = (page.evaluate(COUNTS), page.evaluate(SUMMARY));
        assert_eq!((&counts[0], &counts[1]), (&summary[0], &json!(0)), "{scheme}");
        let whole = counts[0].as_u64().unwrap();
        choose(&mut page, scheme, "cached");
        let (counts, summary) = (page.evaluate(COUNTS), page.evaluate(SUMMARY));
        let [all, spared, read] = [&counts[0], &counts[1], &summary[0]].map(|count| count.as_u64().unwrap());
        assert_eq!((all, all - spared), (whole, read), "{scheme}: tables that caches spare are drawn, and as such");
    }
    // Under a nested TLB and walk caches nearly all of them are.
    choose(&mut page, "nested:4K+4K", "cached");
    let counts = page.evaluate(COUNTS);
    assert!(counts[0] == 24 && counts[1].as_u64() > Some(20), "{counts}");
    let says = page.evaluate("document.querySelector('.tree figcaption').textContent");
    assert!(says.as_str().is_some_and(|text| text.contains("spare")), "{says}");
    assert_eq!(page.accessibility(), [""; 0]);
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
#[ignore = "needs chromium"]
fn the_entry_of_the_current_step_alone_is_marked_and_follows_it() {
    let scratch = Scratch::new();
    let path = comparison(&scratch);
    // What the picture marks, beside what the step says: level, index, and where the entry is.
    let marked = "(() => { const now = document.querySelector('.nodes .now'); \
         const facts = Object.fromEntries([...document.querySelectorAll('[data-detail] dt')].map((name) => [name.textContent, name.nextElementSibling.textContent])); \
         const texts = [...now.querySelectorAll('text')].map((text) => text.textContent); \
         const shown = now.getBoundingClientRect(); const box = document.querySelector('.tree .scroll').getBoundingClientRect(); \
         const index = facts.index.match(/\\d+/)[0]; \
         const address = BigInt((now.querySelector('.in-entry') ? texts.find((text) => text.startsWith('hPA')).slice(4) : texts.slice(1, -1).join('')).replace(/_/g, '')); \
         const at = BigInt(facts['read at'].match(/hPA (\\S+)/)[1].replace(/_/g, '')); \
         return [texts.some((text) => text.replace('entry ', '') === index), address + 8n * BigInt(index) === at, \
             shown.left >= box.left - 1 && shown.right <= box.right + 1]; })()";
    let fills = "(() => { const fills = [...document.querySelectorAll('.nodes .node')].map((node) => getComputedStyle(node.querySelector('.entry')).fill); \
         const now = getComputedStyle(document.querySelector('.nodes .now .entry')).fill; return fills.filter((fill) => fill === now).length; })()";
    for (width, scheme) in [(1200, "light"), (390, "dark")] {
        let mut page = Page::open(&path, width, scheme);
        choose(&mut page, "nested:4K+4K", "whole");
        page.evaluate("document.querySelector('[data-stage]').focus()");
        for step in 1..=24 {
            let counts = page.evaluate(COUNTS);
            assert_eq!((&counts[2], &counts[3]), (&json!(1), &json!(step - 1)), "step {step}");
            assert_eq!(page.evaluate(marked), json!([true, true, true]), "step {step} at {width} pixels");
            assert_eq!(page.evaluate(fills), 1, "step {step}");
            let label = page.evaluate("document.querySelector('.nodes').getAttribute('aria-label')");
            assert!(label.as_str().is_some_and(|label| label.contains(&format!("Step {step} of 24"))), "{label}");
            page.press("ArrowRight");
        }
        // A table that is clicked is the step that reads it.
        page.evaluate(
            "document.querySelectorAll('.nodes .node')[6].dispatchEvent(new MouseEvent('click', { bubbles: true }))",
        );
        let clicked = page.evaluate("document.querySelectorAll('.nodes .node')[6].classList.contains('now')");
        assert_eq!(clicked, true);
        // The picture scrolls in its box, and the page does not.
        assert_eq!(page.evaluate("document.documentElement.scrollWidth"), Value::from(width));
        assert_eq!(page.evaluate("document.querySelector('.tree .scroll').scrollWidth > innerWidth"), width == 390);
        assert_eq!(page.accessibility(), [""; 0], "at {width} pixels, {scheme}");
        page.medium("print", scheme);
        let fits = "document.querySelector('.nodes').getBoundingClientRect().right <= document.querySelector('main, body').getBoundingClientRect().right + 1";
        assert_eq!(page.evaluate(fits), true, "on paper it is as wide as the page at the most");
        assert_eq!(page.complaints, [""; 0]);
    }
}

#[test]
#[ignore = "needs chromium"]
fn two_walks_have_a_picture_each() {
    let scratch = Scratch::new();
    let mut page = Page::open(&comparison(&scratch), 1200, "light");
    choose(&mut page, "nested:4K+4K", "whole");
    page.evaluate(
        "(() => { const select = document.querySelector('[data-beside]'); \
             select.value = [...select.options].find((option) => option.value.startsWith('dual-direct')).value; select.dispatchEvent(new Event('change')); })()",
    );
    let pictures = "[...document.querySelectorAll('.panel:not([hidden]) .nodes')].map((nodes) => [nodes.querySelectorAll('.node').length, nodes.querySelectorAll('.now').length])";
    assert_eq!(page.evaluate(pictures), json!([[24, 1], [0, 1]]), "segments alone have no tables, but an answer");
    assert_eq!(page.accessibility(), [""; 0]);
    assert_eq!(page.complaints, [""; 0]);
}
