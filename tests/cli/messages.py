"""Compares all errors of the command line and of arrays with expected/NAME.txt."""
import os
import re
import struct

import numpy as np

from cases import AFFINE, DENSE, DOCUMENTS, LENGTHS, LISTS, PACKED, POLYNOMIAL, SKETCH, SOFTMAX, WRONG, Place, says, temporary_files
from suite import check

# With --quiet, no line depends on the cache.
RUN = ('run', 'soft.yaml', '--in', 'in', '--out', 'out', '--quiet')

# Each value is (arguments of attnc, exit status, words of the message).
USAGE = {
    'no_arguments': ((), 2, ['--help']),
    'unknown_option': (('--tagret', 'native', 'soft.yaml'), 2, ['--tagret', "did you mean '--target'"]),
    'unknown_short_option': (('-x', 'soft.yaml'), 2, ['-x']),
    'value_of_a_flag': (('soft.yaml', '--quiet=1'), 2, ["'--quiet=1'", "did you mean '--quiet'"]),
    'unknown_option_of_run': (('run', 'soft.yaml', '--inn', 'in', '--out', 'out'), 2, ['--inn', "'--in'"]),
    'option_without_value': (('soft.yaml', '-o'), 2, ['-o']),
    'long_option_without_value': (('soft.yaml', '--target'), 2, ['--target']),
    'threads_not_a_number': ((*RUN, '--threads', 'two'), 2, ['--threads', 'two']),
    'threads_negative': ((*RUN, '--threads', '-1'), 2, ['--threads', '-1']),
    'threads_overflow': ((*RUN, '--threads', '99999999999999999999'), 2, ['--threads']),
    'seed_not_a_number': ((*RUN, '--seed', 'x1'), 2, ['--seed', 'x1']),
    'seed_overflow': ((*RUN, '--seed', '18446744073709551616'), 2, ['--seed']),
    'unknown_emit': (('soft.yaml', '--emit', 'c,grahp'), 2, ['grahp', "'graph'"]),
    'empty_emit': (('soft.yaml', '--emit', ''), 2, ['--emit']),
    'unknown_target': (('soft.yaml', '--target', 'x86-64-v5'), 2, ['x86-64-v5', 'x86-64-v4']),
    'target_twice': (('soft.yaml', '--target', 'generic,generic'), 2, ['generic']),
    'unknown_color': (('soft.yaml', '--color=sometimes'), 2, ['sometimes', 'auto']),
    'unknown_pass': (('soft.yaml', '--dump-after', 'loewr'), 2, ['loewr']),
    'set_without_value': (('soft.yaml', '--set', 'dtype'), (1, 2), ['--set', 'dtype']),
    'set_unknown_key': (('soft.yaml', '--set', 'dtpye=f64'), 1, ['dtpye', 'dtype']),
    'set_bad_value': (('soft.yaml', '--set', 'shape.head_dim=-3'), 1, ['head_dim']),
    'depfile_name_without_depfile': (('soft.yaml', '-MF', 'x.d'), 2, ['-MF', '-MD']),
    'run_without_spec': (('run', '--in', 'in', '--out', 'out'), 2, ['spec|SPEC']),
    'run_two_specs': (('run', 'soft.yaml', 'poly.yaml', '--in', 'in', '--out', 'out'), 2, ['one spec']),
    'run_without_in': (('run', 'soft.yaml', '--out', 'out'), 2, ['--in']),
    'run_without_out': (('run', 'soft.yaml', '--in', 'in'), 2, ['--out']),
    'explain_without_spec': (('explain',), 2, ['explain']),
    'check_without_spec': (('check',), 2, ['check']),
    'show_without_name': (('show',), 2, ['show']),
    'show_unknown': (('show', 'sofmax'), (1, 2), ['sofmax', "did you mean 'softmax'"]),
    'misspelt_command': (('exlpain', 'soft.yaml'), (1, 2), ['exlpain', "'explain'"]),
    'no_such_spec': (('nothing.yaml',), 1, ['nothing.yaml', 'No such file|no such file']),
    'spec_is_a_folder': (('in',), 1, ['in', 'directory|folder']),
    'empty_spec': (('empty.yaml',), 1, ['empty.yaml']),
    'wrong_spec': (('wrong.yaml',), 1, ['wrong.yaml:2:13: error', "did you mean 'softmax'"]),
    'two_wrong_specs': (('wrong.yaml', 'empty.yaml', 'soft.yaml'), 1, ['wrong.yaml', 'empty.yaml']),
    'same_name_twice': (('soft.yaml', 'again.yaml'), (1, 2), ['soft.yaml', 'again.yaml']),
    'looks_ahead_run': (('run', 'decode.yaml', '--in', 'in', '--out', 'out'), 1, ['cannot be decoded']),
    'gradients_of_storage': (('check', 'soft.yaml', '--set', 'storage={k: f16}', '--backward'), 1, ['no gradients', '--backward']),
    'looks_ahead': (('decode.yaml',), 1, ['decode.yaml:', 'mask: causal']),
    'out_folder_under_a_file': (('soft.yaml', '-o', 'soft.yaml/x'), 3, ['soft.yaml/x', 'Not a directory']),
    'out_folder_is_a_file': (('soft.yaml', '-o', 'poly.yaml'), 3, ['poly.yaml']),
    'out_folder_in_proc': (('soft.yaml', '-o', '/proc/attnc'), 3, ['/proc/attnc']),
    'out_file_is_a_folder': (('soft.yaml', '-o', 'taken'), 3, ['taken/soft.c']),
    'depfile_not_writable': (('soft.yaml', '-MD', '-MF', 'soft.yaml/x.d'), 3, ['soft.yaml/x.d']),
}


def usage(folder, suite, name, words, status, needles):
    place = Place(suite, folder, soft=SOFTMAX, again=SOFTMAX, poly=POLYNOMIAL, wrong=WRONG, empty='',
                  decode='similarity: softmax\nshape: {head_dim: 8}\nemit: [forward, decode]\n')
    place.arrays()
    os.makedirs(place.path('taken', 'soft.c'))
    before = place.files()
    done = place.attnc(*words, status=status)
    check(not done.stdout, 'a failure writes to standard output: ' + done.stdout[:200])
    says(suite, place, name, words, done, needles)
    # files that were written before the failure are complete
    changed = set(place.files()) ^ set(before)
    check(changed <= {'soft.c', 'soft.h', 'taken/soft.h'}
          and (not changed or done.returncode == 3 or name in ('two_wrong_specs', 'same_name_twice')),
          'files were written or removed: %s' % sorted(changed))
    check(not temporary_files(folder), 'temporary files: %s' % temporary_files(folder))


# ---------------------------------------------------------------- arrays

def npy(header, data=b'', version=(1, 0), magic=b'\x93NUMPY'):
    header = header.encode('latin1') if isinstance(header, str) else header
    size = struct.pack('<H' if version == (1, 0) else '<I', len(header))
    return magic + bytes(version) + size + header + data


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 5, 8), }\n"
NUMBERS = np.arange(80, dtype=np.float32).tobytes()


def file(name, data):
    return lambda p: p.write('in/%s.npy' % name, data)


def array(name, value):
    return lambda p: p.array(name, value)


def remove(name):
    return lambda p: os.remove(p.path('in', name + '.npy'))


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


# Each value is (spec, change of the arrays, exit status, words of the message).
ARRAYS = {
    'missing_q': (SOFTMAX, remove('q'), 1, ['in/q.npy']),
    'missing_all': (SOFTMAX, lambda p: [remove(n)(p) for n in 'qkv'], 1, ['q.npy', 'k.npy', 'v.npy']),
    'missing_parameter': (DENSE, lambda p: None, 1, ['in/bias.npy', r'\[2, 5, 5\]']),
    'missing_parameters': (AFFINE, lambda p: None, 1,
                           ['q_norm.weight', 'q_norm.bias', 'k_norm.weight', 'k_norm.bias', r'\[8\]']),
    'parameter_of_wrong_shape': (DENSE, array('bias', zeros(2, 5, 4)), 1,
                                 ['in/bias.npy', r'\[2, 5, 4\]', r'\[2, 5, 5\]']),
    'parameter_of_wrong_rank': (DENSE, array('bias', zeros(5, 5)), 1, ['in/bias.npy', r'\[5, 5\]']),
    'sketch_of_wrong_shape': (
        SKETCH, lambda p: [array('sketch.g' + n, zeros(*shape))(p) for n, shape in (('1', (8, 4)), ('2', (4, 8)))], 1,
        ['in/sketch.g2.npy', r'\[4, 8\]', r'\[8, 4\]']),
    'missing_ids': (DOCUMENTS, lambda p: None, 1, ['in/document.npy', r'\[1, 5\]']),
    'ids_of_wrong_shape': (DOCUMENTS, array('document', zeros(1, 4, dtype=np.int32)), 1,
                           ['in/document.npy', r'\[1, 4\]', r'\[1, 5\]']),
    'ids_of_wrong_rank': (DOCUMENTS, array('document', zeros(5, dtype=np.int32)), 1,
                          ['in/document.npy', r'\[5\]', r'\[1, 5\]']),
    'missing_lengths': (LENGTHS, lambda p: None, 1, ['in/lengths.npy', r'\[1\]']),
    'lengths_of_wrong_rank': (LENGTHS, array('lengths', zeros(1, 5, dtype=np.int32)), 1,
                              ['in/lengths.npy', r'\[1, 5\]', r'\[1\]']),
    'missing_lists': (LISTS, lambda p: None, 1, ['in/blocks.npy', r'\[1, 2, 3, 2\]']),
    'lists_of_wrong_shape': (LISTS, array('blocks', zeros(1, 2, 5, 2, dtype=np.int32)), 1,
                             ['in/blocks.npy', r'\[1, 2, 5, 2\]', r'\[1, 2, 3, 2\]', 'q.npy has 5 queries']),
    'ids_that_are_no_integers': (DOCUMENTS, array('document', zeros(1, 5)), 1, ['in/document.npy', 'f4']),
    'ids_out_of_range': (DOCUMENTS, array('document', np.array([[1, 2, 3, 2 ** 31, 5]])), 1,
                         ['in/document.npy', 'range|int32|i32']),
    'ids_that_fall': (PACKED, array('document', np.array([[0, 0, 3, 1, 1]], np.int32)), 1,
                      ['in/document.npy', r'\[0, 3\]', 'from 3 to 1', 'algorithm=quadratic']),
    'q_rank_3': (SOFTMAX, array('q', zeros(2, 5, 8)), 1, ['in/q.npy', r'\[2, 5, 8\]']),
    'q_rank_0': (SOFTMAX, array('q', np.float32(1)), 1, ['in/q.npy', '4 dimensions']),
    'q_rank_9': (SOFTMAX, array('q', zeros(1, 1, 1, 1, 1, 1, 1, 1, 8)), 1, ['in/q.npy', 'dimensions']),
    'q_head_dim': (SOFTMAX, array('q', zeros(1, 2, 5, 16)), 1, ['in/q.npy', '16', 'head_dim']),
    'k_head_dim': (SOFTMAX, array('k', zeros(1, 2, 5, 7)), 1, ['in/k.npy', '7', 'head_dim']),
    'v_value_dim': (POLYNOMIAL, lambda p: None, 1, ['in/v.npy', 'value_dim of the spec is 4']),
    'k_and_v_lengths': (SOFTMAX, array('v', zeros(1, 2, 6, 8)), 1, ['in/v.npy', '6', '5']),
    'k_and_v_heads': (SOFTMAX, array('v', zeros(1, 1, 5, 8)), 1, ['in/v.npy']),
    'batches_differ': (SOFTMAX, array('k', zeros(2, 2, 5, 8)), 1, ['in/k.npy', 'batch']),
    'heads_no_multiple': (SOFTMAX, array('q', zeros(1, 3, 5, 8)), 1, ['in/q.npy', '3', '2']),
    'fewer_heads_than_kv_heads': (SOFTMAX, array('q', zeros(1, 1, 5, 8)), 1, ['in/k.npy', 'v.npy has more heads than q.npy']),
    'no_queries': (SOFTMAX, array('q', zeros(1, 2, 0, 8)), 1, ['in/q.npy']),
    'no_keys': (SOFTMAX, lambda p: [array(n, zeros(1, 2, 0, 8))(p) for n in 'kv'], 1, ['in/k.npy', 'in/v.npy']),
    'complex_numbers': (SOFTMAX, array('q', zeros(1, 2, 5, 8, dtype=np.complex64)), 1, ['in/q.npy', 'c8']),
    'integers': (SOFTMAX, array('q', zeros(1, 2, 5, 8, dtype=np.int64)), 1, ['in/q.npy', 'i8']),
    'booleans': (SOFTMAX, array('q', zeros(1, 2, 5, 8, dtype=bool)), 1, ['in/q.npy', 'b1']),
    'strings': (SOFTMAX, array('q', np.full((1, 2, 5, 8), 'x')), 1, ['in/q.npy', 'U1']),
    'records': (SOFTMAX, array('q', np.zeros((1, 2, 5, 8), [('a', 'f4'), ('b', 'f4')])), 1, ['in/q.npy']),
    'extended_precision': (SOFTMAX, array('q', zeros(1, 2, 5, 8, dtype=np.longdouble)), 1, ['in/q.npy', 'f16']),
    'empty_file': (SOFTMAX, file('q', b''), 1, ['in/q.npy']),
    'not_npy': (SOFTMAX, file('q', b'q,k,v\n1,2,3\n' * 10), 1, ['in/q.npy', r'\.npy']),
    'magic_cut': (SOFTMAX, file('q', b'\x93NUM'), 1, ['in/q.npy']),
    'version_9': (SOFTMAX, file('q', npy(GOOD, NUMBERS * 4, (9, 0))), 1, ['in/q.npy', 'version 9']),
    'header_cut': (SOFTMAX, file('q', npy(GOOD)[:40]), 1, ['in/q.npy']),
    'header_too_long': (SOFTMAX, file('q', b'\x93NUMPY\x02\x00\xff\xff\xff\x7f{'), 1, ['in/q.npy']),
    'header_no_dictionary': (SOFTMAX, file('q', npy('[1, 2, 3]\n', NUMBERS)), 1, ['in/q.npy']),
    'header_without_shape': (SOFTMAX, file('q', npy("{'descr': '<f4', 'fortran_order': False}\n", NUMBERS)), 1,
                             ['in/q.npy', 'shape']),
    'header_negative_shape': (SOFTMAX, file('q', npy(GOOD.replace('(1, 2', '(1, -2'), NUMBERS)), 1, ['in/q.npy']),
    'header_shape_overflows': (SOFTMAX, file('q', npy(GOOD.replace('(1, 2, 5', '(4294967296, 4294967296, 4294967296'),
                                                      NUMBERS)), 1, ['in/q.npy']),
    'header_shape_too_large_to_count': (
        SOFTMAX, file('q', npy(GOOD.replace('(1', '(99999999999999999999999'), NUMBERS)), 1, ['in/q.npy']),
    'header_shape_of_a_petabyte': (SOFTMAX, file('q', npy(GOOD.replace('(1', '(4000000000000'), NUMBERS)), 1,
                                   ['in/q.npy']),
    'data_cut': (SOFTMAX, file('q', npy(GOOD, NUMBERS[:-3])), 1, ['in/q.npy', '320', '317']),
    'data_absent': (SOFTMAX, file('k', npy(GOOD)), 1, ['in/k.npy']),
    'data_too_long': (SOFTMAX, file('v', npy(GOOD, NUMBERS + b'!')), 1, ['in/v.npy']),
    'array_is_a_folder': (SOFTMAX, lambda p: (remove('q')(p), os.mkdir(p.path('in/q.npy'))), (1, 3),
                          ['in/q.npy', 'directory|folder']),
    'many_at_once': (AFFINE, lambda p: (remove('q')(p), array('k', zeros(1, 2, 5, 4))(p), file('v', b'')(p)), 1,
                     ['q.npy', 'k.npy', 'v.npy', 'q_norm.weight', 'k_norm.bias']),
}


def bad_array(folder, suite, name, spec, change, status, needles):
    place = Place(suite, folder, soft=spec)
    place.arrays()
    change(place)
    done = place.attnc(*RUN, status=status)
    says(suite, place, name, RUN, done, needles)
    check(not done.stdout, 'a failure writes to standard output')
    check(not os.path.exists(place.path('out')),
          'an --out folder was made: %s' % (place.files('out') if os.path.exists(place.path('out')) else ''))


# Each case is (--in, --out, a folder to create, exit status, words of the message).
FOLDERS = {
    'in_folder_missing': ('nowhere', 'out', None, 1, ['nowhere']),
    'in_is_a_file': ('soft.yaml', 'out', None, 1, ['soft.yaml']),
    'out_is_a_file': ('in', 'soft.yaml', None, 3, ['soft.yaml']),
    'out_under_a_file': ('in', 'soft.yaml/out', None, 3, ['soft.yaml/out']),
    'out_in_proc': ('in', '/proc/attnc', None, 3, ['/proc/attnc']),
    'out_npy_is_a_folder': ('in', 'out', 'out/out.npy', 3, ['out/out.npy']),
}


def bad_folder(folder, suite, name, in_dir, out_dir, made, status, needles):
    place = Place(suite, folder, soft=SOFTMAX)
    place.arrays()
    if made:
        os.makedirs(place.path(made))
    words = ('run', 'soft.yaml', '--in', in_dir, '--out', out_dir, '--quiet')
    done = place.attnc(*words, status=status)
    says(suite, place, name, words, done, needles)
    check(not temporary_files(folder), 'temporary files: %s' % temporary_files(folder))


NO_COMPILER = {
    'no_compiler_on_path': {'PATH': '/nonexistent', 'ATTNC_CC': None},
    'no_compiler_of_that_name': {'PATH': '/nonexistent', 'ATTNC_CC': '/nonexistent/cc'},
    'compiler_fails': {'ATTNC_CC': '/bin/false', 'ATTNC_CFLAGS': None},
    'compiler_is_no_compiler': {'ATTNC_CC': '/bin/true'},
}


def no_compiler(folder, suite, name, environment):
    place = Place(suite, folder, soft=SOFTMAX)
    place.arrays()
    os.makedirs(place.path('tmp'))
    environment = dict(environment, XDG_CACHE_HOME=place.path('cache'), TMPDIR=place.path('tmp'))
    done = place.attnc(*RUN, status=3, env=environment)
    done.stderr = re.sub(r'(DIR|%s)/(cache|tmp)/\S*' % folder, r'DIR/\2/…', done.stderr)
    says(suite, place, name, RUN, done, ['compile|/bin/(true|false)'])
    check(not os.path.exists(place.path('out')), 'an --out folder was made')


NO_LIBCLANG = {
    'no_libclang': '/nonexistent/libclang.so',
    'libclang_is_no_libclang': 'libm.so.6',
}


def no_libclang(folder, suite, name, library):
    """Only a spec with an expression needs libclang."""
    place = Place(suite, folder, soft=SOFTMAX, expression=SOFTMAX.replace('mask: causal', 'mask: {expr: "j <= i"}'))
    environment = {'ATTNC_LIBCLANG': library}
    place.attnc('soft.yaml', env=environment)
    words = ('expression.yaml',)
    done = place.attnc(*words, status=3, env=environment)
    says(suite, place, name, words, done, ['libclang', 'ATTNC_LIBCLANG'])
    check(sorted(f for f in place.files() if f.endswith(('.c', '.h'))) == ['soft.c', 'soft.h'],
          'files: %s' % place.files())


def register(suite):
    for name, (words, status, needles) in USAGE.items():
        suite.case('usage-' + name, usage, suite, name, words, status, needles)
    for name, (spec, change, status, needles) in ARRAYS.items():
        suite.case('array-' + name, bad_array, suite, name, spec, change, status, needles)
    for name, (in_dir, out_dir, made, status, needles) in FOLDERS.items():
        suite.case('folder-' + name, bad_folder, suite, name, in_dir, out_dir, made, status, needles)
    for name, environment in NO_COMPILER.items():
        suite.case('compiler-' + name, no_compiler, suite, name, environment)
    for name, library in NO_LIBCLANG.items():
        suite.case('libclang-' + name, no_libclang, suite, name, library)
