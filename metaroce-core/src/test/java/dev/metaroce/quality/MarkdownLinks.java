package dev.metaroce.quality;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Finds links in Markdown files whose file or heading does not exist in the checkout. */
final class MarkdownLinks {
    private static final Pattern INLINE =
            Pattern.compile("\\]\\(\\s*<?([^)\\s>]+)>?(?:\\s+\"[^\"]*\")?\\s*\\)");
    private static final Pattern REFERENCE =
            Pattern.compile("^\\s{0,3}\\[[^\\]]+\\]:\\s+<?(\\S+?)>?$");
    private static final Pattern HTML = Pattern.compile("(?:href|src)=\"([^\"]+)\"");
    private static final Pattern HTML_ANCHOR = Pattern.compile("(?:id|name)=\"([^\"]+)\"");
    private static final Pattern HEADING = Pattern.compile("^#{1,6}\\s+(.*?)\\s*#*$");
    private static final Pattern SCHEME = Pattern.compile("^[a-zA-Z][a-zA-Z0-9+.-]*:.*");
    private static final Pattern CODE_SPAN = Pattern.compile("(`+)(?!`).*?(?<!`)\\1(?!`)");

    private MarkdownLinks() {}

    static List<String> check(SourceFile file) {
        List<String> problems = new ArrayList<>();
        List<String> lines = withoutCode(file.lines());
        for (int i = 0; i < lines.size(); i++) {
            for (Pattern pattern : List.of(INLINE, REFERENCE, HTML)) {
                Matcher link = pattern.matcher(CODE_SPAN.matcher(lines.get(i)).replaceAll("``"));
                while (link.find()) {
                    String problem = problemOf(file, link.group(1));
                    if (!problem.isEmpty()) {
                        problems.add(file.name() + ":" + (i + 1) + ": " + problem);
                    }
                }
            }
        }
        return problems;
    }

    private static String problemOf(SourceFile file, String link) {
        if (SCHEME.matcher(link).matches() || link.startsWith("//")) {
            return "";
        }
        String decoded = URLDecoder.decode(link.replace("+", "%2B"), StandardCharsets.UTF_8);
        int hash = decoded.indexOf('#');
        String relative = hash < 0 ? decoded : decoded.substring(0, hash);
        Path target = file.path();
        if (relative.startsWith("/")) {
            target = file.root().resolve(relative.substring(1));
        } else if (!relative.isEmpty()) {
            target = file.path().resolveSibling(relative).normalize();
        }
        if (!Files.exists(target)) {
            return "link to " + link + ": there is no such file";
        }
        SourceFile linked = new SourceFile(file.root(), target);
        if (hash >= 0 && linked.isMarkdown()) {
            String anchor = decoded.substring(hash + 1);
            return anchors(linked).contains(anchor) ? "" : "link to " + link + ": no such heading";
        }
        return "";
    }

    /** The names that a page's headings get, as Git hosting sites make them. */
    static Set<String> anchors(SourceFile file) {
        Set<String> anchors = new HashSet<>();
        Map<String, Integer> seen = new HashMap<>();
        for (String line : withoutCode(file.lines())) {
            Matcher html = HTML_ANCHOR.matcher(line);
            while (html.find()) {
                anchors.add(html.group(1));
            }
            Matcher heading = HEADING.matcher(line);
            if (heading.matches()) {
                String slug = slug(heading.group(1));
                int count = seen.merge(slug, 1, Integer::sum);
                anchors.add(count == 1 ? slug : slug + "-" + (count - 1));
            }
        }
        return anchors;
    }

    private static String slug(String heading) {
        String text = heading.replaceAll("!?\\[([^\\]]*)\\]\\([^)]*\\)", "$1");
        StringBuilder slug = new StringBuilder();
        text.toLowerCase(Locale.ROOT)
                .codePoints()
                .forEach(
                        c -> {
                            if (c == ' ') {
                                slug.append('-');
                            } else if (Character.isLetterOrDigit(c) || c == '-' || c == '_') {
                                slug.appendCodePoint(c);
                            }
                        });
        return slug.toString();
    }

    /** The lines with those inside code fences emptied, so that line numbers stay true. */
    private static List<String> withoutCode(List<String> lines) {
        List<String> kept = new ArrayList<>();
        String fence = "";
        for (String line : lines) {
            String text = line.strip();
            if (fence.isEmpty() && (text.startsWith("```") || text.startsWith("~~~"))) {
                fence = text.substring(0, 3);
                kept.add("");
            } else if (!fence.isEmpty()) {
                fence = text.startsWith(fence) ? "" : fence;
                kept.add("");
            } else {
                kept.add(line);
            }
        }
        return kept;
    }
}
