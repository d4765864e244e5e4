/* The two intermediate representations (IRs) of a program. Both contain the same scalar expressions.
   - The graph is tensor algebra over named axes. It defines what is computed.
   - The loops are statements on tiles inside loops over ranges of axes. They define how it is computed.
   Each IR has a text form, a parser, a verifier and an interpreter in float64. Tests compare the results of passes and
   of emitted code with those of the interpreters. This folder includes no header of another folder.

   Terms:
   - value: a node of the graph, with one element for each point of its axes.
   - region: a condition on indices, such as j <= i. A sum or maximum takes only the indices for which the condition
     holds.
   - current range of an axis: the indices lo <= x < hi that the innermost FOR over this axis processes at the moment.
     If there is no FOR over the axis, all its indices.
   - tile: an array in the workspace that stores the elements of the current ranges of its axes.
   - lanes: the last axis of a MAP, or of the result of a DOT. Vector instructions process several of its indices at
     once.
   - head: a pair of a batch index and a key/value head.
   - quadratic form, linear form: two programs for the same spec. The quadratic form computes a weight for every pair of
     query and key. The linear form (linear attention) sums features of keys into a state.
   - chunk: a fixed number of consecutive keys (or queries). The linear form carries its sums from one chunk to the
     next.
   - slot: the memory for the elements of one chunk in a tile over chunks.
   - window: the chunks that have a slot at the same time.
   - state: the carried sums of a sequence. The caller stores them between calls. */
#ifndef ATTNC_IR_H
#define ATTNC_IR_H

#include "graph.h"
#include "stmts.h"

#endif
