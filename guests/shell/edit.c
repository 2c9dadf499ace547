#include "edit.h"

#include "../common/bytes.h"
#include "calls.h"

#define PROMPT "vos> "

enum { HISTORY = 16 };

enum key {
    KEY_INTERRUPT = 3,
    KEY_END_OF_INPUT = 4,
    KEY_TO_END = 5,
    KEY_BACKSPACE = 8,
    KEY_LINE_FEED = 10,
    KEY_KILL = 11,
    KEY_RETURN = 13,
    KEY_DOWN_CONTROL = 14,
    KEY_UP_CONTROL = 16,
    KEY_CLEAR = 21,
    KEY_WORD = 23,
    KEY_ESCAPE = 27,
    KEY_FIRST_PLAIN = 32,
    KEY_RUBOUT = 127,
    /* Sequences that begin with KEY_ESCAPE. */
    KEY_UP = 0x100,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_HOME,
    KEY_END,
    KEY_DELETE,
    KEY_UNKNOWN,
    KEY_NONE,
};

struct editor {
    char line[SHELL_LINE_BYTES];
    size_t length;
    size_t cursor;
    /* How many lines back the one that is shown is; 0 for the new one. */
    unsigned back;
    char unfinished[SHELL_LINE_BYTES];
};

static struct {
    char lines[HISTORY][SHELL_LINE_BYTES];
    /* Of all that were ever added. */
    unsigned count;
} history;

static unsigned read_key(void)
{
    uint64_t key = shell_call(SHELL_READ, 0, 0, 0);

    return shell_failed(key) ? KEY_NONE : (unsigned)key;
}

/* What terminals send: ESC [ or ESC O, a number perhaps, and a letter or "~". */
static unsigned read_escape_sequence(void)
{
    unsigned key = read_key();
    unsigned number = 0;

    if (key != '[' && key != 'O')
        return KEY_UNKNOWN;
    while ((key = read_key()) == ';' || (key >= '0' && key <= '9'))
        number = key == ';' ? 0 : (number * 10 + key - '0') % 1000;
    switch (key) {
    case 'A':
        return KEY_UP;
    case 'B':
        return KEY_DOWN;
    case 'C':
        return KEY_RIGHT;
    case 'D':
        return KEY_LEFT;
    case 'H':
        return KEY_HOME;
    case 'F':
        return KEY_END;
    case '~':
        return number == 3 ? KEY_DELETE : number == 1 ? KEY_HOME : number == 4 ? KEY_END : KEY_UNKNOWN;
    default:
        return KEY_UNKNOWN;
    }
}

static void show(const struct editor *editor)
{
    struct text text = {.length = 0};

    text_add(&text, "\r" PROMPT "%s\033[K", editor->line);
    if (editor->cursor < editor->length)
        text_add(&text, "\033[%luD", editor->length - editor->cursor);
    text_write(&text);
}

/* Takes out the characters from `from` up to the cursor. */
static void erase(struct editor *editor, size_t from)
{
    memmove(editor->line + from, editor->line + editor->cursor, editor->length + 1 - editor->cursor);
    editor->length -= editor->cursor - from;
    editor->cursor = from;
}

static void insert(struct editor *editor, char character)
{
    if (editor->length == SHELL_LINE_BYTES - 1)
        return;
    memmove(editor->line + editor->cursor + 1, editor->line + editor->cursor,
            editor->length + 1 - editor->cursor);
    editor->line[editor->cursor++] = character;
    editor->length++;
}

static size_t word_begin(const struct editor *editor)
{
    size_t at = editor->cursor;

    while (at > 0 && editor->line[at - 1] == ' ')
        at--;
    while (at > 0 && editor->line[at - 1] != ' ')
        at--;
    return at;
}

static void replace(struct editor *editor, const char *line)
{
    memcpy(editor->line, line, SHELL_LINE_BYTES);
    editor->length = string_length(line);
    editor->cursor = editor->length;
}

/* Shows the line so many lines back, if there is one. */
static void recall(struct editor *editor, unsigned back)
{
    unsigned kept = history.count < HISTORY ? history.count : HISTORY;

    if (back > kept)
        return;
    if (editor->back == 0)
        memcpy(editor->unfinished, editor->line, SHELL_LINE_BYTES);
    editor->back = back;
    replace(editor, back == 0 ? editor->unfinished
                              : history.lines[(history.count - back) % HISTORY]);
}

static void remember(const char line[SHELL_LINE_BYTES])
{
    const char *last = history.lines[(history.count - 1) % HISTORY];

    if (line[0] == '\0' || (history.count > 0 && string_equal(line, last)))
        return;
    memcpy(history.lines[history.count++ % HISTORY], line, SHELL_LINE_BYTES);
}

static void edit(struct editor *editor, unsigned key)
{
    switch (key) {
    case KEY_LEFT:
        editor->cursor -= editor->cursor > 0;
        break;
    case KEY_RIGHT:
        editor->cursor += editor->cursor < editor->length;
        break;
    case KEY_HOME:
        editor->cursor = 0;
        break;
    case KEY_END:
    case KEY_TO_END:
        editor->cursor = editor->length;
        break;
    case KEY_UP:
    case KEY_UP_CONTROL:
        recall(editor, editor->back + 1);
        break;
    case KEY_DOWN:
    case KEY_DOWN_CONTROL:
        if (editor->back > 0)
            recall(editor, editor->back - 1);
        break;
    case KEY_BACKSPACE:
    case KEY_RUBOUT:
        if (editor->cursor > 0)
            erase(editor, editor->cursor - 1);
        break;
    case KEY_DELETE:
        if (editor->cursor < editor->length) {
            editor->cursor++;
            erase(editor, editor->cursor - 1);
        }
        break;
    case KEY_CLEAR:
        erase(editor, 0);
        break;
    case KEY_WORD:
        erase(editor, word_begin(editor));
        break;
    case KEY_KILL:
        editor->line[editor->cursor] = '\0';
        editor->length = editor->cursor;
        break;
    default:
        if (key >= KEY_FIRST_PLAIN && key < KEY_RUBOUT)
            insert(editor, (char)key);
        break;
    }
}

static void end_line(const struct editor *editor, bool is_terminal, const char *mark)
{
    struct text text = {.length = 0};

    if (!is_terminal)
        text_add(&text, PROMPT "%s", editor->line);
    text_add(&text, "%s\n", mark);
    text_write(&text);
}

bool edit_line(char line[SHELL_LINE_BYTES], bool is_terminal)
{
    struct editor editor = {.length = 0};

    for (;;) {
        unsigned key;

        if (is_terminal)
            show(&editor);
        key = read_key();
        if (key == KEY_ESCAPE)
            key = read_escape_sequence();
        if (key == KEY_NONE)
            return false;
        if (key == KEY_END_OF_INPUT && editor.length == 0) {
            end_line(&editor, is_terminal, "exit");
            return false;
        }
        if (key == KEY_INTERRUPT) {
            end_line(&editor, is_terminal, "^C");
            editor = (struct editor){.length = 0};
            continue;
        }
        /* Without a terminal, a last line without an end. */
        if (key == KEY_RETURN || key == KEY_LINE_FEED || (key == KEY_END_OF_INPUT && !is_terminal))
            break;
        edit(&editor, key);
    }
    editor.cursor = editor.length;
    if (is_terminal)
        show(&editor);
    end_line(&editor, is_terminal, "");
    memcpy(line, editor.line, SHELL_LINE_BYTES);
    remember(line);
    return true;
}
