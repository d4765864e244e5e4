/* Writes the JSON Schema (draft 2020-12) of the spec language from the rows of spec.def. Editors use it to complete
   and check specs. */
#include "manual.h"
#include "../driver/driver.h"
#include "../schedule/schedule.h"
#include "../spec/spec.h"

#include <float.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *group(enum group g);
static json_t *value(const struct key_row *row);

static json_t *reference(const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "#/$defs/%s", name);
    return json_pack("{s:s}", "$ref", path);
}

/* Returns a reference to the definition of a choice. Definitions have names because masks contain masks. */
static json_t *choice_reference(enum choice c)
{
    return reference(choice_rows[c].heading);
}

/* Returns whether the group has a key for a list of tokens. A spec must set either this key or `count`. */
static bool takes_either(enum group g)
{
    for (int k = 0; k < key_row_count; k++)
        if (key_rows[k].group == g && key_rows[k].type == ROW_TOKENS) return true;
    return false;
}

static bool needs_options(enum group g)
{
    for (int k = 0; k < key_row_count; k++)
        if (key_rows[k].group == g && !key_rows[k].otherwise) return true;
    return takes_either(g);
}

/* Returns the schema of a map with a single key. */
static json_t *one_key(const struct option_row *option, json_t *content)
{
    json_t *properties = json_object(), *required = json_array();
    json_object_set_new(properties, option->word, content);
    json_array_append_new(required, json_string(option->word));
    return json_pack("{s:s, s:s, s:o, s:o, s:b}", "type", "object", "description", option->says, "properties",
                     properties, "required", required, "additionalProperties", 0);
}

/* Returns a schema that allows `content` or null. Null is allowed because `{causal: }` means `causal`. */
static json_t *or_nothing(json_t *content)
{
    return json_pack("{s:[o, {s:s}]}", "anyOf", content, "type", "null");
}

static void add_option(json_t *any, const struct option_row *option)
{
    const bool bare = option->payload == PAYLOAD_BARE ||
                      (option->payload == PAYLOAD_OPTIONS && !needs_options(option->group));
    if (bare) json_array_append_new(any, json_pack("{s:s, s:s}", "const", option->word, "description", option->says));
    json_t *content = NULL;
    switch (option->payload) {
    case PAYLOAD_BARE: content = or_nothing(json_pack("{s:s, s:i}", "type", "object", "maxProperties", 0)); break;
    case PAYLOAD_OPTIONS: content = bare ? or_nothing(group(option->group)) : group(option->group); break;
    case PAYLOAD_VALUE: content = value(spec_find_key(option->group, option->word)); break;
    }
    json_array_append_new(any, one_key(option, content));
}

static json_t *choice(enum choice c)
{
    json_t *any = json_array();
    for (int k = 0; k < option_row_count; k++)
        if (option_rows[k].choice == c) add_option(any, &option_rows[k]);
    json_t *made = json_pack("{s:o}", "anyOf", any);
    if (choice_rows[c].says) json_object_set_new(made, "description", json_string(choice_rows[c].says));
    return made;
}

static json_t *integer(const struct key_row *row)
{
    json_t *made = json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)row->low, "maximum",
                             (json_int_t)row->high);
    if (row->check == CHECK_EVEN) json_object_set_new(made, "multipleOf", json_integer(2));
    if (row->check != CHECK_POWER_OF_TWO) return made;
    json_t *powers = json_array();
    for (json_int_t power = 1; power <= row->high; power *= 2)
        if (power >= row->low) json_array_append_new(powers, json_integer(power));
    json_decref(made);
    return json_pack("{s:o}", "enum", powers);
}

static json_t *number(const struct key_row *row)
{
    /* The limits exclude infinity, because some readers of YAML read 1e999 as infinity. */
    json_t *made = json_pack("{s:s, s:f, s:f}", "type", "number", "minimum", -DBL_MAX, "maximum", DBL_MAX);
    switch (row->check) {
    case CHECK_POSITIVE: json_object_set_new(made, "exclusiveMinimum", json_integer(0)); break;
    case CHECK_NOT_NEGATIVE: json_object_set_new(made, "minimum", json_integer(0)); break;
    case CHECK_PROBABILITY:
        json_object_set_new(made, "minimum", json_integer(0));
        json_object_del(made, "maximum");
        json_object_set_new(made, "exclusiveMaximum", json_integer(1));
        break;
    case CHECK_NOT_ZERO: json_object_set_new(made, "not", json_pack("{s:i}", "const", 0)); break;
    case CHECK_ANY:
    case CHECK_EVEN:
    case CHECK_POWER_OF_TWO:
    case CHECK_FINITE: break;
    }
    return made;
}

static json_t *list(json_t *items, bool unique)
{
    json_t *made = json_pack("{s:s, s:o, s:i}", "type", "array", "items", items, "minItems", 1);
    if (unique) json_object_set_new(made, "uniqueItems", json_true());
    return made;
}

/* Returns the properties for the knobs of forward or of the gradients. */
static json_t *knobs_of(enum knob_of of)
{
    json_t *properties = json_object();
    for (int k = 0; k < KNOBS; k++) {
        const struct knob_row *knob = &knob_table[k];
        if (!(knob->of & of)) continue;
        json_t *made = json_pack("{s:s, s:I, s:I, s:s}", "type", "integer", "minimum", (json_int_t)knob->low, "maximum",
                                 (json_int_t)knob->high, "description", knob->says);
        if (knob->multiple > 1) json_object_set_new(made, "multipleOf", json_integer(knob->multiple));
        json_object_set_new(properties, knob->name, made);
    }
    return properties;
}

/* Returns the schema of a map of knobs. If `listed`, the map is an entry of a list and may have `from`. */
static json_t *knobs(const struct key_row *row, bool listed)
{
    json_t *properties = knobs_of(KNOB_OF_FORWARD);
    if (listed)
        json_object_set_new(properties, "from",
                            json_pack("{s:s, s:I, s:I, s:s}", "type", "integer", "minimum", (json_int_t)row->low,
                                      "maximum", (json_int_t)row->high, "description",
                                      "the number of keys that the entry is used from"));
    json_object_set_new(
        properties, "backward",
        or_nothing(json_pack("{s:s, s:s, s:o, s:b}", "type", "object", "description", "knobs of the gradients",
                             "properties", knobs_of(KNOB_OF_BACKWARD), "additionalProperties", 0)));
    return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties, "additionalProperties", 0);
}

/* Returns the schema of `schedule:`, a map of knobs or a list of such maps. */
static json_t *schedule(const struct key_row *row)
{
    json_t *first = knobs(row, true),
           *list = json_pack("{s:s, s:i, s:i}", "type", "array", "minItems", 1, "maxItems", MAX_SCHEDULES);
    json_object_set_new(json_object_get(json_object_get(first, "properties"), "from"), "maximum", json_integer(1));
    json_t *other = knobs(row, true);
    json_object_set_new(other, "required", json_pack("[s]", "from"));
    json_object_set_new(list, "prefixItems", json_pack("[o]", or_nothing(first)));
    json_object_set_new(list, "items", other);
    return json_pack("{s:[o, o]}", "anyOf", knobs(row, false), list);
}

/* Returns the schema of a map from names to maps of a group. */
static json_t *named(int most, enum group of)
{
    return json_pack("{s:s, s:i, s:o, s:{s:s, s:i}}", "type", "object", "maxProperties", most, "additionalProperties",
                     group(of), "propertyNames", "pattern", "^[A-Za-z][A-Za-z0-9_]*$", "maxLength", 40);
}

/* Returns the schema of the shape of an array. */
static json_t *extents(const struct key_row *row)
{
    json_t *const words = json_array();
    for (int k = EXTENT_B; k <= EXTENT_E; k++)
        json_array_append_new(words, json_string(array_extent_name((enum array_extent)k)));
    return json_pack("{s:s, s:i, s:{s:[o, {s:o}, {s:s, s:s}]}}", "type", "array", "maxItems", 5, "items", "anyOf",
                     integer(row), "enum", words, "type", "string", "pattern", "^(Nq|Nk|D|E) */ *[1-9][0-9]*$");
}

static json_t *value(const struct key_row *row)
{
    switch (row->type) {
    case ROW_INTEGER: return integer(row);
    case ROW_NUMBER: return number(row);
    case ROW_FLAG: return json_pack("{s:s}", "type", "boolean");
    case ROW_SEED:
        return json_pack("{s:s, s:i, s:f}", "type", "integer", "minimum", 0, "exclusiveMaximum",
                         18446744073709551616.0);
    case ROW_NAME:
        return json_pack("{s:s, s:s, s:i}", "type", "string", "pattern", "^([A-Za-z]|_[a-z0-9])[A-Za-z0-9_]*$|^_$",
                         "maxLength", 100);
    case ROW_TEXT: return json_pack("{s:s}", "type", "string");
    case ROW_EXPRESSION: {
        json_t *const made = json_pack("{s:s, s:s, s:i}", "type", "string", "pattern", "[^ \\t\\r\\n]", "maxLength",
                                       4096);
        if (spec_row_takes_numbers(row)) json_object_set_new(made, "type", json_pack("[s, s]", "number", "string"));
        return made;
    }
    case ROW_CHOICE:
    case ROW_SWITCH:
    case ROW_SIMILARITY:
    case ROW_MASK:
    case ROW_MASK_PART: return choice_reference((enum choice)row->of);
    case ROW_MASKS: return list(choice_reference((enum choice)row->of), false);
    case ROW_PREPARE: {
        json_t *made = list(choice_reference((enum choice)row->of), false);
        json_object_del(made, "minItems");
        return made;
    }
    case ROW_EMIT: return list(choice_reference((enum choice)row->of), true);
    case ROW_GROUP: return group((enum group)row->of);
    case ROW_BLOCK: return json_pack("{s:[o, {s:s}]}", "anyOf", integer(row), "const", "auto");
    case ROW_COEFFICIENTS: return json_pack("{s:[o, {s:s}]}", "anyOf", list(number(row), false), "const", "param");
    case ROW_TOKENS: return list(integer(row), true);
    case ROW_SCHEDULE: return schedule(row);
    case ROW_NAMED: return named((int)row->high, (enum group)row->of);
    case ROW_ROW: return json_pack("{s:s}", "type", "string");
    case ROW_VALUES: return json_pack("{s:[{s:s}, {s:i}]}", "anyOf", "type", "string", "const", 1);
    case ROW_EXTENTS: return extents(row);
    case ROW_ROWS: return list(json_pack("{s:s}", "type", "string"), true);
    }
    return NULL;
}

static void add_default(json_t *property, const struct key_row *row)
{
    const char *text = row->otherwise;
    if (!text || !*text || *text == '(') return;
    char *end;
    const double real = strtod(text, &end);
    if (!*end && strspn(text, "0123456789") == strlen(text))
        json_object_set_new(property, "default", json_integer(strtoll(text, NULL, 10)));
    else if (!*end)
        json_object_set_new(property, "default", json_real(real));
    else if (row->type == ROW_FLAG)
        json_object_set_new(property, "default", json_boolean(strcmp(text, "true") == 0));
    else
        json_object_set_new(property, "default", json_string(text));
}

/* Returns whether the key may have no value, as in `key: `, which means the default. */
static bool may_be_empty(const struct key_row *row)
{
    return row->type == ROW_SCHEDULE ||
           ((row->type == ROW_CHOICE || row->type == ROW_SWITCH || row->type == ROW_MASK) && row->otherwise &&
            *row->otherwise && *row->otherwise != '(');
}

static json_t *group(enum group g)
{
    json_t *properties = json_object(), *required = json_array();
    for (int k = 0; k < key_row_count; k++) {
        const struct key_row *row = &key_rows[k];
        if (row->group != g) continue;
        json_t *property = value(row);
        if (may_be_empty(row)) property = or_nothing(property);
        json_object_set_new(property, "description", json_string(row->says));
        add_default(property, row);
        json_object_set_new(properties, row->key, property);
        if (!row->otherwise) json_array_append_new(required, json_string(row->key));
    }
    json_t *made = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties, "additionalProperties", 0);
    if (json_array_size(required))
        json_object_set_new(made, "required", required);
    else
        json_decref(required);
    if (takes_either(g))
        json_object_set_new(made, "oneOf", json_pack("[{s:[s]}, {s:[s]}]", "required", "count", "required", "tokens"));
    return made;
}

/* Returns rules for the conflicts of keys that spec/check.c reports. Some conflicts cannot be expressed in a JSON
   Schema. */
static json_t *conflicts(void)
{
    static const char text
        [] = "[{\"$comment\": \"with 'local: exact' the block size changes the result\","
             "  \"if\": {\"properties\": {\"similarity\": {\"type\": \"object\", \"required\": [\"polysketch\"], "
             "\"properties\": {\"polysketch\": {\"type\": \"object\","
             "    \"required\": [\"local\"], \"properties\": {\"local\": {\"const\": \"exact\"}}}}}}, \"required\": "
             "[\"similarity\"]},"
             "  \"then\": {\"required\": [\"block\"], \"properties\": {\"block\": {\"type\": \"integer\"}}}},"
             " {\"$comment\": \"a learned map has no random parameters\","
             "  \"if\": {\"properties\": {\"similarity\": {\"type\": \"object\", \"required\": [\"polysketch\"], "
             "\"properties\": {\"polysketch\": {\"type\": \"object\","
             "    \"required\": [\"map\"], \"properties\": {\"map\": {\"const\": \"learned\"}}}}}}, \"required\": "
             "[\"similarity\"]},"
             "  \"then\": {\"properties\": {\"similarity\": {\"properties\": {\"polysketch\": {\"properties\": "
             "{\"seed\": false}}}}}}},"
             " {\"$comment\": \"a projection removes positions\","
             "  \"if\": {\"required\": [\"project\"]},"
             "  \"then\": {\"properties\": {\"mask\": {\"enum\": [\"none\", null, {\"none\": null}, {\"none\": {}}]},"
             "    \"prepare\": {\"not\": {\"contains\": {\"anyOf\": [{\"const\": \"rope\"}, {\"type\": \"object\", "
             "\"required\": [\"rope\"]}]}}}}}},"
             " {\"$comment\": \"rope rotates pairs\","
             "  \"if\": {\"properties\": {\"prepare\": {\"type\": \"array\", \"contains\": {\"anyOf\": [{\"const\": "
             "\"rope\"}, {\"type\": \"object\", \"required\": [\"rope\"]}]}}},"
             "    \"required\": [\"prepare\"]},"
             "  \"then\": {\"properties\": {\"shape\": {\"properties\": {\"head_dim\": {\"multipleOf\": 2}}}}}}]";
    return json_loads(text, 0, NULL);
}

bool spec_schema(struct text *out)
{
    json_t *root = json_pack("{s:s, s:s, s:s, s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title",
                             "attnc spec", "description",
                             "One variant of attention, which attnc compiles to C. From compiler/spec/spec.def.",
                             "$comment", "For an editor: # yaml-language-server: $schema=attnc.schema.json");
    json_t *spec = group(GROUP_SPEC), *defs = json_object();
    for (int c = 0; c < CHOICES; c++) json_object_set_new(defs, choice_rows[c].heading, choice((enum choice)c));
    json_object_update(root, spec);
    json_decref(spec);
    json_object_set_new(root, "allOf", conflicts());
    json_object_set_new(root, "$defs", defs);
    char *text = json_dumps(root, JSON_INDENT(2));
    if (text) text_add(out, "%s\n", text);
    free(text);
    json_decref(root);
    return text != NULL;
}
