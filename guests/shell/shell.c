/* A shell, and the workloads that it starts: one program, as vos has one. Started with any other name it is pagewalk-workloads. */
#include "../common/bytes.h"
#include "../workloads/vos.h"
#include "calls.h"
#include "commands.h"
#include "edit.h"

int program_main(int argc, char **argv);
/* workloads/main.c */
int workloads_main(int argc, char **argv);

static bool is_given(int argc, char **argv, const char *word)
{
    for (int i = 2; i < argc; i++)
        if (string_equal(argv[i], word))
            return true;
    return false;
}

/* Called by start.S; the result is the exit status. */
int program_main(int argc, char **argv)
{
    bool is_terminal = is_given(argc, argv, "terminal");
    char line[SHELL_LINE_BYTES];
    struct text text = {.length = 0};

    if (argc < 2 || !string_equal(argv[1], "shell") || vos_process() != 1)
        return workloads_main(argc, argv);
    text_add(&text, "Type help for the commands, exit to end%s.\n",
             is_terminal ? ", Ctrl-A x to end at once" : "");
    text_write(&text);
    while (edit_line(line, is_terminal)) {
        if (!command_run(line))
            break;
        command_report_ended();
    }
    return 0;
}
