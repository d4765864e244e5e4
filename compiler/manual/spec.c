/* Makes the man page attnc-spec(5) from spec.md and the rows of spec.def. */
#include "manual.h"
#include "page.h"
#include "../spec/spec.h"

#include <string.h>

static void add_row(struct text *out, const struct key_row *row)
{
    struct text domain = {0};
    text_add(out, ".TP\n.BR \"%s\" \" (", row->key);
    spec_row_domain(row, &domain);
    manual_text(out, domain.length ? domain.data : "");
    struct text value = {0};
    manual_default(row, "default ", &value);
    text_add(out, "; ");
    manual_text(out, value.data);
    text_free(&value);
    text_add(out, ")\"\n");
    manual_text(out, row->says);
    text_add(out, ".\n");
    text_free(&domain);
}

static void add_group(struct text *out, enum group group)
{
    for (int k = 0; k < key_row_count; k++)
        if (key_rows[k].group == group) add_row(out, &key_rows[k]);
}

static void add_choice(struct text *out, enum choice choice)
{
    text_add(out, ".SS %s\n", choice_rows[choice].heading);
    if (choice_rows[choice].says) {
        manual_text(out, choice_rows[choice].says);
        text_add(out, "\n");
    }
    for (int k = 0; k < option_row_count; k++) {
        const struct option_row *option = &option_rows[k];
        if (option->choice != choice) continue;
        text_add(out, ".TP\n.B %s\n", option->word);
        manual_text(out, option->says);
        text_add(out, ".\n");
        if (option->payload == PAYLOAD_BARE) continue;
        text_add(out, ".RS\n");
        add_group(out, option->group);
        text_add(out, ".RE\n");
    }
}

void manual_spec(struct text *out)
{
    manual_head(out, "ATTNC-SPEC", "5", "the language that describes attention variants to attnc");
    text_add(out, ".SH DESCRIPTION\n");
    manual_markdown(out, manual_language, false);
    text_add(out, ".SH KEYS\n");
    add_group(out, GROUP_SPEC);
    text_add(out, ".SS shape\n");
    add_group(out, GROUP_SHAPE);
    text_add(out, ".SH CHOICES\n");
    for (int c = 0; c < CHOICES; c++) add_choice(out, (enum choice)c);
    manual_markdown(out, strstr(manual_language, MANUAL_KEYS) + strlen(MANUAL_KEYS), true);
    text_add(out, ".SH SEE ALSO\n.BR attnc (1),\n.BR attnrt (3)\n");
}
