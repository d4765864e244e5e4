/* Reads nodes of a model. */
#include "provider.h"

#include <stdlib.h>
#include <string.h>

bool declared_of(const OrtValueInfo *info, struct declared *d)
{
    const OrtTypeInfo *type = NULL;
    const OrtShape *shape = NULL;
    size_t axes = 0;
    *d = (struct declared){.axes = -1};
    if (!info || !done(ort->GetValueInfoName(info, &d->name)) || !d->name || !*d->name) return true;
    d->info = info;
    if (!done(ort->GetValueInfoTypeInfo(info, &type)) || !done(ort->CastTypeInfoToTensorInfo(type, &shape)) || !shape)
        return true;
    if (!done(ort->GetTensorElementType(shape, &d->type)) || !done(ort->GetDimensionsCount(shape, &axes))) return true;
    if (axes > MOST_AXES || !done(ort->GetDimensions(shape, d->size, axes))) return false;
    d->axes = (int)axes;
    return true;
}

typedef OrtStatus *count_of(const OrtNode *, size_t *);
typedef OrtStatus *values_of(const OrtNode *, const OrtValueInfo **, size_t);

/* Reads the inputs or the outputs. Returns their number, or -1 if there are too many. */
static int read(const OrtNode *node, count_of *count, values_of *values, struct declared *to, size_t most)
{
    const OrtValueInfo *info[MOST_INPUTS];
    size_t number = 0;
    if (!done(count(node, &number)) || number > most || !done(values(node, info, number))) return -1;
    for (size_t n = 0; n < number; n++)
        if (!declared_of(info[n], &to[n])) return -1;
    return (int)number;
}

bool node_of(const OrtNode *from, struct node *node)
{
    *node = (struct node){.node = from};
    if (!done(ort->Node_GetOperatorType(from, &node->op)) || !done(ort->Node_GetDomain(from, &node->domain)) ||
        !done(ort->Node_GetSinceVersion(from, &node->version)))
        return false;
    node->inputs = read(from, ort->Node_GetNumInputs, ort->Node_GetInputs, node->input, MOST_INPUTS);
    node->outputs = read(from, ort->Node_GetNumOutputs, ort->Node_GetOutputs, node->output, MOST_OUTPUTS);
    return node->inputs >= 0 && node->outputs >= 0;
}

bool has_input(const struct node *node, int n)
{
    return n < node->inputs && node->input[n].info;
}
bool has_output(const struct node *node, int n)
{
    return n < node->outputs && node->output[n].info;
}

/* Returns an attribute of this type, or NULL. */
static const OrtOpAttr *attribute_of(const struct node *node, const char *name, int wanted)
{
    const OrtOpAttr *attribute = NULL;
    int type = 0;
    if (!done(ort->Node_GetAttributeByName(node->node, name, &attribute)) || !attribute) return NULL;
    return done(ort->OpAttr_GetType(attribute, &type)) && type == wanted ? attribute : NULL;
}

int64_t integer_of(const struct node *node, const char *name, int64_t otherwise)
{
    const OrtOpAttr *const attribute = attribute_of(node, name, ORT_INT);
    int64_t value = otherwise;
    size_t bytes = 0;
    return attribute && done(ort->ReadOpAttr(attribute, ORT_INT, &value, sizeof value, &bytes)) ? value : otherwise;
}

double number_of(const struct node *node, const char *name, double otherwise)
{
    const OrtOpAttr *const attribute = attribute_of(node, name, ORT_FLOAT);
    float value = 0;
    size_t bytes = 0;
    return attribute && done(ort->ReadOpAttr(attribute, ORT_FLOAT, &value, sizeof value, &bytes)) ? (double)value
                                                                                                  : otherwise;
}

bool word_of(const struct node *node, const char *name, const char *otherwise, char *word, size_t bytes)
{
    const OrtOpAttr *const attribute = attribute_of(node, name, ORT_STRING);
    size_t wanted = 0;
    if (!attribute) {
        if (strlen(otherwise) >= bytes) return false;
        strcpy(word, otherwise);
        return true;
    }
    memset(word, 0, bytes);
    return done(ort->ReadOpAttr(attribute, ORT_STRING, word, bytes - 1, &wanted)) && wanted < bytes;
}
