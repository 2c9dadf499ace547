/* A terminal of a time sharing system, after the terminal simulator of Umeno, Amano and Saijo 1995 (Table 1, workloads 5 and 6: transactions with
 * edit commands and subcommands). Each process is a terminal.
 *
 * A terminal thinks, for a time that is distributed exponentially, and then edits its text. One transaction (marker 3) is an edit command: it
 * takes working storage, does some subcommands, and gives the storage back, for which the kernel has the TLBs of its partners purged. A
 * subcommand builds a line of 64 bytes in a page of the storage, moves the text from a random place on to insert the line, and drops the last
 * line.
 *
 * size:     bytes of the text (8K)
 * updates:  subcommands of a transaction (16)
 * think:    mean think time in microseconds (1000)
 * duration: microseconds from the start of the machine on, after which the terminal ends its session (10000). A transaction that is not finished
 *           then does not count
 * seed:     of think times, places and lines */
#include "calls.h"
#include "session.h"

#include "../common/bytes.h"
#include "../workloads/vos.h"

enum { LINE_BYTES = 64, LINE_WORDS = LINE_BYTES / sizeof(uint64_t), PAGE_BYTES = 4096, PAGE_WORDS = PAGE_BYTES / 8 };

struct editor {
    uint64_t *words;
    uint64_t lines;
    /* Of all words of the text. */
    uint64_t sum;
    struct random random;
};

static uint64_t sum_of(const uint64_t *words, uint64_t count)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < count; i++)
        sum += words[i];
    return sum;
}

/* Moves the lines from `place` on by one line. The last one is lost. */
static void make_room(const struct editor *editor, uint64_t place)
{
    for (uint64_t i = editor->lines * LINE_WORDS; i > (place + 1) * LINE_WORDS; i--)
        editor->words[i - 1] = editor->words[i - 1 - LINE_WORDS];
}

static void subcommand(struct editor *editor, uint64_t *line)
{
    uint64_t place = random_next(&editor->random) % editor->lines;

    for (uint64_t i = 0; i < LINE_WORDS; i++)
        line[i] = random_next(&editor->random);
    editor->sum += sum_of(line, LINE_WORDS) -
                   sum_of(editor->words + (editor->lines - 1) * LINE_WORDS, LINE_WORDS);
    make_room(editor, place);
    memcpy(editor->words + place * LINE_WORDS, line, LINE_BYTES);
}

/* Thinks, for as long as the session goes on. */
static void think(struct editor *editor, const struct session *session)
{
    sleep_to(session_after(session, session_draw(&editor->random, session->think_nanoseconds)));
}

/* Whether it is finished before the session ends. */
static bool transaction(struct editor *editor, const struct session *session)
{
    uint64_t *storage = linux_map(session->updates * PAGE_BYTES, LINUX_MAP_PLAIN);

    if (storage == NULL)
        fail(OUTCOME_FAILED, "terminals: FAILED no working storage");
    for (uint64_t i = 0; i < session->updates; i++) {
        if (!session_goes_on(session))
            return false;
        subcommand(editor, storage + i * PAGE_WORDS);
    }
    if (!give_back(storage, session->updates * PAGE_BYTES))
        fail(OUTCOME_FAILED, "terminals: FAILED the kernel does not take working storage back");
    PAGEWALK_TRANSACTION();
    return true;
}

enum outcome terminals(int count, char **words)
{
    struct session session = {
        .size = 8 << 10, .updates = 16, .think_nanoseconds = 1000000, .duration_nanoseconds = 10000000};
    struct editor editor;
    uint64_t transactions = 0;
    uint64_t recorded;

    session_read(&session, "terminals", count, words);
    editor.lines = session.size / LINE_BYTES;
    editor.words = memory_take(editor.lines * LINE_BYTES, ALIGN_PAGE);
    editor.sum = 0;
    editor.random.state = mix64(session.seed ^ mix64(vos_process()));
    think(&editor, &session);
    while (transaction(&editor, &session)) {
        transactions++;
        think(&editor, &session);
    }
    if (sum_of(editor.words, editor.lines * LINE_WORDS) != editor.sum) {
        print("terminals: FAILED the text is not what was typed\n");
        return OUTCOME_FAILED;
    }
    recorded = recorded_calls();
    /* Others are recorded as well: mappings, reads of the clock, the process's number. */
    if (recorded != 0 && recorded < made_calls()) {
        print("terminals: FAILED %lu calls are recorded of %lu\n", recorded, made_calls());
        return OUTCOME_FAILED;
    }
    print("terminals: ok transactions=%lu recorded=%lu\n", transactions, recorded);
    return OUTCOME_OK;
}
