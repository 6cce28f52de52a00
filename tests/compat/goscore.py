"""Scores a go test -json stream by its leaves: goscore.py FILE. Output as lib.sh says."""
import json
import sys

results = {}
for text in open(sys.argv[1], errors='replace'):
    try:
        event = json.loads(text)
    except ValueError:
        continue
    test, action = event.get('Test'), event.get('Action')
    if not test:
        continue
    key = (event.get('Package'), test)
    if action == 'run':
        results.setdefault(key, 'fail')  # until it ends, it hangs
    elif action in ('pass', 'fail', 'skip'):
        results[key] = action


def below(key):
    return [k for k in results if k[0] == key[0] and k[1].startswith(key[1] + '/')]


counts = {'pass': 0, 'fail': 0, 'skip': 0}
for key, result in sorted(results.items()):
    inner = below(key)
    if inner and not (result == 'fail' and all(results[k] != 'fail' for k in inner)):
        continue  # it counts through its subtests, unless it failed by itself
    counts[result] += 1
    print({'pass': 'ok', 'fail': 'FAIL', 'skip': 'skip'}[result], key[1].replace(' ', '_'))
print(f"{counts['pass']} passed, {counts['fail']} failed, {counts['skip']} skipped")
