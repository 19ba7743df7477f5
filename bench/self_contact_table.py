#!/usr/bin/env python3
"""The table of bench/self_contact, out of the statistics in the present folder. Usage: self_contact_table.py NAME SHOT..."""
import json, sys

read = lambda path: json.load(open(path + '.json'))
tet, model, contact = read('c.tet.npz'), read('c.model.npz'), read('c.contact.npz')
print('%s: %s tets, r = %s; %d training poses, %d domains, %d pair sets of domains; %d of %d vertices, at most %d of %d in a pose, error %.1f %%' % (
    sys.argv[1], tet.get('tets'), read('c.basis.npz').get('modes'), contact['poses'], contact['domains'], contact['domain_pairs'],
    contact['kept'], contact['pairs'], contact['most_kept'], contact['most_pairs'], 100 * contact['error']))
if 'direct_5' in contact:
    print('  one set for all poses: %d pairs for 5 %%, %d for 1 %%, of %d' % (contact['direct_5'], contact['direct_1'], contact['direct_of']))
for shot in sys.argv[2:]:
    full, none, every, few = [read('%s.%s.npz' % (shot, k)) for k in ('full', 'none', 'all', 'few')]
    frame = lambda s: 1e3 * (s['stages']['steps'] + s['stages']['pose part']) / s['frames']
    error = {k: [float(l.split("%")[0].split()[-1]) for l in open('%s.%s.txt' % (shot, k)) if l.startswith('relative L2 error of u')][0] for k in ('all', 'few')}
    print('  %-6s rig %.2f %% deep; error of u: all %.2f %%, trained %.2f %%; deepest: full %.2f, all %.2f, trained %.2f %%' % (
        shot, 100 * full.get('rig_depth', 0), error['all'], error['few'], 100 * full.get('contact_depth', 0), 100 * every['contact_deepest'], 100 * few['contact_deepest']))
    print('         ms a frame: full %.0f, none %.2f, all %.2f, trained %.2f: full/trained %.0f; contact a step: all %.2f (most %.2f), trained %.3f (most %.3f) ms: %.1f x, most %.1f x; pressed %d, %d; share %.0f, %.0f %%; failed %s %s' % (
        frame(full), frame(none), frame(every), frame(few), frame(full) / frame(few), every['contact_ms'], every['contact_most_ms'], few['contact_ms'], few['contact_most_ms'],
        every['contact_ms'] / few['contact_ms'], every['contact_most_ms'] / few['contact_most_ms'], every['contact_most_pressed'], few['contact_most_pressed'],
        100 * every['contact_share'], 100 * few['contact_share'], every.get('failed_frames'), few.get('failed_frames')))
