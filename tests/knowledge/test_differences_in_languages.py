"""Stored answers are found again in other words in each language, and withheld from other questions."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gleaner.knowledge.differences import StoredAnswer, find_difference

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)

# By language: the stored question, another question, and the stored answer.
SAME: dict[str, list[tuple[str, str, str]]] = {
    "zh": [
        ("怎样清洁皮沙发？", "皮沙发脏了该怎么清洁？", "皮沙发用湿布和中性皂清洁。"),
        ("多长时间换一次机油？", "机油多久需要更换？", "机油每一万公里换一次。"),
        ("怎样修补自行车内胎？", "自行车内胎破了如何修补？", "自行车内胎用补胎片修补。"),
        ("米饭要煮多久？", "煮米饭需要多长时间？", "米饭煮二十分钟。"),
    ],
    "ja": [
        (
            "革のソファはどう掃除しますか。",
            "革のソファを掃除する方法を知りたいです。",
            "革のソファは湿った布で掃除します。",
        ),
        (
            "エンジンオイルはいつ交換しますか。",
            "エンジンオイルの交換時期を教えてください。",
            "エンジンオイルは一万キロごとに交換します。",
        ),
        (
            "自転車のパンクはどう直しますか。",
            "自転車がパンクしたら、どうやって直せばいいですか。",
            "自転車のパンクはパッチで直します。",
        ),
        ("玄米はどのくらい炊きますか。", "玄米を炊く時間を教えてください。", "玄米は四十分炊きます。"),
    ],
    "ko": [
        (
            "가죽 소파는 어떻게 청소하나요?",
            "가죽 소파를 청소하는 방법이 궁금해요",
            "가죽 소파는 젖은 천으로 청소합니다.",
        ),
        ("엔진 오일은 언제 교체하나요?", "엔진 오일 교체 시기를 알려 주세요", "엔진 오일은 만 킬로마다 교체합니다."),
        (
            "자전거 펑크는 어떻게 고치나요?",
            "자전거가 펑크 났을 때 고치는 법을 알려 주세요",
            "자전거 펑크는 패치로 고칩니다.",
        ),
        ("현미는 얼마나 오래 익히나요?", "현미를 익히는 데 몇 분 걸리나요?", "현미는 사십 분 익힙니다."),
    ],
    "hi": [
        ("चमड़े का सोफ़ा कैसे साफ़ करें?", "चमड़े के सोफ़े की सफ़ाई का अच्छा तरीका क्या है?", "चमड़े का सोफ़ा गीले कपड़े से साफ़ करें।"),
        ("गुलाब की छँटाई कब करें?", "गुलाब की छँटाई का उचित समय बताइए", "गुलाब की छँटाई फ़रवरी में करें।"),
        ("साइकिल का पंचर कैसे ठीक करें?", "साइकिल में पंचर हो जाए तो उसे ठीक कैसे करूँ?", "साइकिल का पंचर पैच से ठीक करें।"),
        ("चावल कितनी देर पकाएँ?", "चावल पकाने में कितना समय लगता है?", "चावल बीस मिनट पकाएँ।"),
    ],
    "th": [
        ("ทำความสะอาดโซฟาหนังอย่างไร", "โซฟาหนังควรทำความสะอาดแบบไหนดี", "ทำความสะอาดโซฟาหนังด้วยผ้าชุบน้ำ"),
        ("เปลี่ยนน้ำมันเครื่องเมื่อไร", "น้ำมันเครื่องต้องเปลี่ยนตอนไหน", "เปลี่ยนน้ำมันเครื่องทุกหนึ่งหมื่นกิโลเมตร"),
        ("หุงข้าวนานเท่าไร", "ต้องหุงข้าวกี่นาที", "หุงข้าวนานยี่สิบนาที"),
    ],
    "ar": [
        ("كيف أنظف الأريكة الجلدية؟", "ما طريقة تنظيف أريكة جلدية؟", "تنظف الأريكة الجلدية بقطعة قماش مبللة."),
        ("متى أغير زيت المحرك؟", "متى يلزم تغيير زيت المحرك؟", "يغير زيت المحرك كل عشرة آلاف كيلومتر."),
        ("كيف أصلح ثقب إطار الدراجة؟", "ما الطريقة الصحيحة لإصلاح ثقب في إطار دراجة؟", "يصلح ثقب إطار الدراجة برقعة."),
        ("كم دقيقة يطبخ الأرز؟", "كم يستغرق طبخ الأرز؟", "يطبخ الأرز عشرين دقيقة."),
    ],
    "he": [
        ("איך מנקים ספת עור?", "מה הדרך הנכונה לנקות ספה מעור?", "ספת עור מנקים במטלית לחה."),
        ("מתי מחליפים שמן מנוע?", "באיזה זמן צריך להחליף את שמן המנוע?", "שמן מנוע מחליפים כל עשרת אלפים קילומטר."),
        ("איך מתקנים תקר באופניים?", "מה הדרך הטובה לתיקון תקר באופניים?", "תקר באופניים מתקנים בטלאי."),
        ("כמה דקות מבשלים אורז?", "כמה זמן לוקח לבשל אורז?", "אורז מבשלים עשרים דקות."),
    ],
    "ru": [
        (
            "Как чистить кожаный диван?",
            "Какой способ чистки кожаного дивана лучше?",
            "Кожаный диван чистят влажной тряпкой.",
        ),
        (
            "Когда менять моторное масло?",
            "В какое время нужна замена моторного масла?",
            "Моторное масло меняют каждые десять тысяч километров.",
        ),
        (
            "Как заклеить камеру велосипеда?",
            "Чем заклеивают велосипедную камеру?",
            "Камеру велосипеда заклеивают заплаткой.",
        ),
        ("Сколько минут варить рис?", "Сколько времени нужно для варки риса?", "Рис варят двадцать минут."),
    ],
    "tr": [
        (
            "Deri koltuk nasıl temizlenir?",
            "Deri koltuğu temizlemenin en iyi yolu nedir?",
            "Deri koltuk nemli bezle temizlenir.",
        ),
        (
            "Motor yağı ne zaman değiştirilir?",
            "Motor yağını değiştirmek için uygun zaman ne?",
            "Motor yağı on bin kilometrede bir değiştirilir.",
        ),
        (
            "Bisiklet lastiği nasıl yamanır?",
            "Bisikletimin lastiğini nasıl yamarım?",
            "Bisiklet lastiği yama ile yamanır.",
        ),
        ("Pirinç kaç dakika pişirilir?", "Pirinci pişirmek kaç dakika sürer?", "Pirinç yirmi dakika pişirilir."),
    ],
    "vi": [
        (
            "Làm sạch ghế sofa da thế nào?",
            "Muốn làm sạch sofa da thì dùng cách nào?",
            "Ghế sofa da làm sạch bằng khăn ẩm.",
        ),
        ("Khi nào thay dầu động cơ?", "Bao giờ cần thay dầu động cơ?", "Dầu động cơ thay sau mười nghìn cây số."),
        ("Nấu cơm mất bao lâu?", "Cần bao lâu để nấu cơm?", "Nấu cơm mất hai mươi phút."),
    ],
    "fr": [
        (
            "Comment nettoyer un canapé en cuir ?",
            "De quelle façon nettoie-t-on les canapés en cuir ?",
            "Un canapé en cuir se nettoie avec un chiffon humide.",
        ),
        (
            "Quand changer l'huile du moteur ?",
            "À quel moment faut-il changer l'huile de mon moteur ?",
            "L'huile du moteur se change tous les dix mille kilomètres.",
        ),
        (
            "Comment réparer une chambre à air de vélo ?",
            "Avec quoi répare-t-on la chambre à air d'un vélo ?",
            "Une chambre à air de vélo se répare avec une rustine.",
        ),
        ("Combien de temps cuire le riz ?", "Quel est le temps de cuisson du riz ?", "Le riz cuit vingt minutes."),
    ],
    "es": [
        (
            "¿Cómo se limpia un sofá de cuero?",
            "¿De qué forma debo limpiar mi sofá de cuero?",
            "Un sofá de cuero se limpia con un paño húmedo.",
        ),
        (
            "¿Cuándo se cambia el aceite del motor?",
            "¿En qué momento conviene cambiar el aceite del motor?",
            "El aceite del motor se cambia cada diez mil kilómetros.",
        ),
        (
            "¿Cómo se repara un pinchazo de bicicleta?",
            "¿Con qué puedo reparar un pinchazo en mi bicicleta?",
            "Un pinchazo de bicicleta se repara con un parche.",
        ),
        (
            "¿Cuánto tiempo se cuece el arroz?",
            "¿Cuántos minutos hay que cocer el arroz?",
            "El arroz se cuece veinte minutos.",
        ),
    ],
    "de": [
        (
            "Wie reinigt man ein Ledersofa?",
            "Wie wird ein Ledersofa richtig gereinigt?",
            "Ein Ledersofa reinigt man mit einem feuchten Tuch.",
        ),
        (
            "Wann wechselt man das Motoröl?",
            "Wann sollte das Motoröl gewechselt werden?",
            "Motoröl wechselt man alle zehntausend Kilometer.",
        ),
        (
            "Wie flickt man einen Fahrradschlauch?",
            "Wie kann ein Fahrradschlauch geflickt werden?",
            "Einen Fahrradschlauch flickt man mit einem Flicken.",
        ),
        ("Wie lange kocht man Reis?", "Wie viele Minuten muss Reis kochen?", "Reis kocht man zwanzig Minuten."),
    ],
}
OTHER: dict[str, list[tuple[str, str, str]]] = {
    "zh": [
        ("塔尔恩塔的门票多少钱？", "维莱姆塔的门票要多少钱？", "塔尔恩塔的门票是五百元。"),
        ("塔尔恩图书馆几点开门？", "请问维莱姆图书馆什么时候开门？", "塔尔恩图书馆九点开门。"),
        ("兰花怎么浇水？", "仙人掌有什么浇水方法？", "兰花每周浇水一次，不要积水。"),
        ("兰花怎么浇水？", "兰花怎么施肥？", "兰花每周浇水一次，不要积水。"),
        ("塔尔恩塔的门票多少钱？", "塔尔恩塔的儿童门票多少钱？", "塔尔恩塔的门票是五百元。"),
        ("自行车链条用什么油？", "自行车链条在哪里买？", "自行车链条用薄的链条油。"),
        ("莱茵咖啡馆周末营业吗？", "索拉咖啡馆周末会不会营业？", "莱茵咖啡馆周末营业。"),
        ("怎样修补自行车内胎？", "怎样修补充气床垫？", "自行车内胎用补胎片修补。"),
        ("米饭要煮多久？", "糙米应该煮多长时间？", "米饭煮二十分钟。"),
    ],
    "ja": [
        (
            "サルン塔の入場料はいくらですか。",
            "ヴェレム塔に入るにはいくら払いますか。",
            "サルン塔の入場料は五百円です。",
        ),
        ("蘭の水やりはどうしますか。", "サボテンの水やりの方法を教えてください。", "蘭は週に一度水やりをします。"),
        ("蘭の水やりはどうしますか。", "蘭の植え替えはどうしますか。", "蘭は週に一度水やりをします。"),
        ("サルン図書館は何時に開きますか。", "サルン図書館の駐車場は何台ですか。", "サルン図書館は九時に開きます。"),
        (
            "リンの美術館は月曜日に開いていますか。",
            "ソラの美術館は月曜日も開館していますか。",
            "リンの美術館は月曜日に開いています。",
        ),
        ("玄米はどのくらい炊きますか。", "玄米は一合何グラムですか。", "玄米は四十分炊きます。"),
    ],
    "ko": [
        ("사른 탑 입장료는 얼마인가요?", "벨렘 탑에 들어가려면 얼마를 내야 하나요?", "사른 탑 입장료는 오백 원입니다."),
        ("난초에 물을 어떻게 주나요?", "선인장에 물을 주는 방법은?", "난초는 일주일에 한 번 물을 줍니다."),
        ("난초에 물을 어떻게 주나요?", "난초 비료는 어떻게 주나요?", "난초는 일주일에 한 번 물을 줍니다."),
        ("사른 도서관은 언제 여나요?", "벨렘 도서관 여는 시간은?", "사른 도서관은 아홉 시에 엽니다."),
        ("린 미술관은 월요일에 여나요?", "소라 미술관도 월요일에 문을 여나요?", "린 미술관은 월요일에 엽니다."),
        ("자전거 펑크는 어떻게 고치나요?", "자동차 펑크를 고치는 방법은?", "자전거 펑크는 패치로 고칩니다."),
        ("현미는 얼마나 오래 익히나요?", "감자는 얼마나 오래 삶나요?", "현미는 사십 분 익힙니다."),
    ],
    "hi": [
        ("सारन मीनार का टिकट कितने का है?", "वेलम मीनार का टिकट कितने का है?", "सारन मीनार का टिकट पचास रुपये का है।"),
        ("गुलाब को पानी कैसे दें?", "तुलसी को पानी देने का सही तरीका क्या है?", "गुलाब को सुबह पानी दें।"),
        ("गुलाब को पानी कैसे दें?", "गुलाब की छँटाई कैसे करें?", "गुलाब को सुबह पानी दें।"),
        ("सारन पुस्तकालय कब खुलता है?", "सारन पुस्तकालय में कितनी किताबें हैं?", "सारन पुस्तकालय नौ बजे खुलता है।"),
        (
            "रीन संग्रहालय सोमवार को खुला रहता है?",
            "क्या सोला संग्रहालय सोमवार को खुलता है?",
            "रीन संग्रहालय सोमवार को खुला रहता है।",
        ),
        ("साइकिल का पंचर कैसे ठीक करें?", "कार का पंचर ठीक करने का तरीका बताइए", "साइकिल का पंचर पैच से ठीक करें।"),
        ("चावल कितनी देर पकाएँ?", "आलू कितनी देर उबालें?", "चावल बीस मिनट पकाएँ।"),
    ],
    "th": [
        ("หอคอยสารันค่าเข้าเท่าไร", "ค่าเข้าหอคอยเวเลมราคาเท่าไร", "หอคอยสารันค่าเข้าห้าสิบบาท"),
        ("รดน้ำกล้วยไม้อย่างไร", "วิธีรดน้ำกระบองเพชรคืออะไร", "รดน้ำกล้วยไม้ตอนเช้าสัปดาห์ละครั้ง"),
        ("รดน้ำกล้วยไม้อย่างไร", "ใส่ปุ๋ยกล้วยไม้อย่างไร", "รดน้ำกล้วยไม้ตอนเช้าสัปดาห์ละครั้ง"),
        ("ห้องสมุดสารันเปิดกี่โมง", "ห้องสมุดสารันมีหนังสือกี่เล่ม", "ห้องสมุดสารันเปิดเก้าโมง"),
        ("พิพิธภัณฑ์รีนเปิดวันจันทร์ไหม", "วันจันทร์พิพิธภัณฑ์โซลาเปิดหรือเปล่า", "พิพิธภัณฑ์รีนเปิดวันจันทร์"),
        ("ปะยางจักรยานอย่างไร", "วิธีปะยางรถยนต์", "ปะยางจักรยานด้วยแผ่นปะ"),
        ("หุงข้าวนานเท่าไร", "ต้มมันฝรั่งนานเท่าไร", "หุงข้าวนานยี่สิบนาที"),
    ],
    "ar": [
        ("كم سعر تذكرة برج سارن؟", "بكم تذكرة برج فيلم؟", "سعر تذكرة برج سارن خمسون درهما."),
        ("كيف تسقى الورود؟", "ما طريقة سقي الصبار؟", "تسقى الورود في الصباح مرة في الأسبوع."),
        ("كيف تسقى الورود؟", "كيف تقلم الورود؟", "تسقى الورود في الصباح مرة في الأسبوع."),
        ("متى تفتح مكتبة سارن؟", "متى تفتح مكتبة فيلم؟", "تفتح مكتبة سارن في التاسعة."),
        ("هل متحف رين مفتوح يوم الاثنين؟", "هل يفتح متحف سولا يوم الاثنين؟", "متحف رين مفتوح يوم الاثنين."),
        ("كيف أصلح ثقب إطار الدراجة؟", "ما طريقة إصلاح ثقب إطار السيارة؟", "يصلح ثقب إطار الدراجة برقعة."),
        ("كم دقيقة يطبخ الأرز؟", "كم دقيقة تسلق البطاطس؟", "يطبخ الأرز عشرين دقيقة."),
    ],
    "he": [
        ("כמה עולה כרטיס למגדל סארן?", "מה מחיר הכרטיס למגדל וולם?", "כרטיס למגדל סארן עולה חמישים שקל."),
        ("איך משקים ורדים?", "מה הדרך להשקות קקטוסים?", "ורדים משקים בבוקר פעם בשבוע."),
        ("איך משקים ורדים?", "איך גוזמים ורדים?", "ורדים משקים בבוקר פעם בשבוע."),
        ("מתי נפתחת ספריית סארן?", "כמה ספרים יש בספריית סארן?", "ספריית סארן נפתחת בתשע."),
        ("האם מוזיאון רין פתוח ביום שני?", "האם מוזיאון סולה נפתח ביום שני?", "מוזיאון רין פתוח ביום שני."),
        ("איך מתקנים תקר באופניים?", "מה הדרך לתקן תקר במכונית?", "תקר באופניים מתקנים בטלאי."),
        ("כמה דקות מבשלים אורז?", "כמה דקות מבשלים תפוחי אדמה?", "אורז מבשלים עשרים דקות."),
    ],
    "ru": [
        ("Сколько стоит билет в башню Сарн?", "Какова цена билета в башню Велем?", "Билет в башню Сарн стоит 50 крон."),
        ("Как поливать розы?", "Каков правильный полив кактусов?", "Розы поливают утром раз в неделю."),
        ("Как поливать розы?", "Как обрезать розы?", "Розы поливают утром раз в неделю."),
        (
            "Когда открывается библиотека Сарна?",
            "Сколько книг в библиотеке Сарна?",
            "Библиотека Сарна открывается в девять.",
        ),
        ("Чем чистить кожаный диван?", "Где купить кожаный диван?", "Кожаный диван чистят влажной тряпкой."),
        (
            "Открыт ли музей Рин в понедельник?",
            "Работает ли в понедельник музей Сола?",
            "Музей Рин открыт в понедельник.",
        ),
        (
            "Как заклеить камеру велосипеда?",
            "Как правильно заклеить надувной матрас?",
            "Камеру велосипеда заклеивают заплаткой.",
        ),
        ("Сколько минут варить рис?", "Сколько минут варить гречку?", "Рис варят двадцать минут."),
    ],
    "tr": [
        (
            "Sarn kulesine giriş ne kadar?",
            "Velem kulesine girmek için ne kadar ödenir?",
            "Sarn kulesine giriş elli lira.",
        ),
        ("Güller nasıl sulanır?", "Kaktüs sulamanın doğru yolu nedir?", "Güller sabah haftada bir sulanır."),
        ("Güller nasıl sulanır?", "Güller nasıl budanır?", "Güller sabah haftada bir sulanır."),
        ("Sarn kütüphanesi ne zaman açılır?", "Sarn kütüphanesinde kaç kitap var?", "Sarn kütüphanesi dokuzda açılır."),
        ("Hangi ilaç süte karıştırılır?", "Hangi ilaç süte karıştırılmaz?", "Tarin süte karıştırılır."),
        ("Rin müzesi pazartesi açık mı?", "Sola müzesi pazartesi günleri açılıyor mu?", "Rin müzesi pazartesi açık."),
        (
            "Bisiklet lastiği nasıl yamanır?",
            "Araba lastiğini yamamanın yolu nedir?",
            "Bisiklet lastiği yama ile yamanır.",
        ),
        ("Pirinç kaç dakika pişirilir?", "Patates kaç dakika haşlanır?", "Pirinç yirmi dakika pişirilir."),
    ],
    "vi": [
        ("Vé vào tháp Sarn giá bao nhiêu?", "Tháp Velem bán vé giá bao nhiêu?", "Vé vào tháp Sarn giá năm mươi nghìn."),
        ("Tưới hoa lan thế nào?", "Cách tưới xương rồng là gì?", "Hoa lan tưới buổi sáng mỗi tuần một lần."),
        ("Tưới hoa lan thế nào?", "Bón phân cho hoa lan thế nào?", "Hoa lan tưới buổi sáng mỗi tuần một lần."),
        ("Thư viện Sarn mở cửa lúc mấy giờ?", "Thư viện Sarn có bao nhiêu sách?", "Thư viện Sarn mở cửa lúc chín giờ."),
        (
            "Bảo tàng Rin có mở cửa thứ hai không?",
            "Thứ hai bảo tàng Sola có mở cửa không?",
            "Bảo tàng Rin mở cửa thứ hai.",
        ),
        ("Vá săm xe đạp thế nào?", "Cách vá săm ô tô là gì?", "Săm xe đạp vá bằng miếng vá."),
        ("Nấu cơm mất bao lâu?", "Luộc khoai tây mất bao lâu?", "Nấu cơm mất hai mươi phút."),
    ],
    "fr": [
        (
            "Comment arroser les rosiers ?",
            "Quelle est la méthode pour arroser les cactus ?",
            "Les rosiers s'arrosent le matin.",
        ),
        ("Comment arroser les rosiers ?", "Comment tailler les rosiers ?", "Les rosiers s'arrosent le matin."),
        (
            "Quelle huile mettre dans le moteur Sarn ?",
            "Quel filtre va dans le moteur Sarn ?",
            "Le moteur Sarn prend une huile fine.",
        ),
        (
            "Combien coûte l'entrée de la tour Sarn ?",
            "Quel est le prix d'entrée de la tour Velem ?",
            "L'entrée de la tour Sarn coûte 5 euros.",
        ),
        (
            "Le musée Rin est-il ouvert le lundi ?",
            "Est-ce que le musée Sola ouvre le lundi ?",
            "Le musée Rin est ouvert le lundi.",
        ),
        (
            "Comment réparer une chambre à air de vélo ?",
            "Quelle est la façon de réparer un matelas gonflable ?",
            "Une chambre à air de vélo se répare avec une rustine.",
        ),
        ("Combien de temps cuire le riz ?", "Combien de temps cuire les lentilles ?", "Le riz cuit vingt minutes."),
    ],
    "es": [
        (
            "¿Cómo se riegan los rosales?",
            "¿De qué manera debo regar los cactus?",
            "Los rosales se riegan por la mañana.",
        ),
        ("¿Cómo se riegan los rosales?", "¿Cómo se podan los rosales?", "Los rosales se riegan por la mañana."),
        ("¿Qué aceite lleva el motor Sarn?", "¿Qué filtro lleva el motor Sarn?", "El motor Sarn lleva aceite ligero."),
        (
            "¿Cuánto cuesta la entrada a la torre Sarn?",
            "¿Qué precio tiene la entrada a la torre Velem?",
            "La entrada a la torre Sarn cuesta 5 euros.",
        ),
        ("¿Abre el museo Rin los lunes?", "¿Está abierto el museo Sola los lunes?", "El museo Rin abre los lunes."),
        (
            "¿Cómo se repara un pinchazo de bicicleta?",
            "¿De qué modo reparo un pinchazo del coche?",
            "Un pinchazo de bicicleta se repara con un parche.",
        ),
        (
            "¿Cuánto tiempo se cuece el arroz?",
            "¿Cuánto tiempo se cuecen las lentejas?",
            "El arroz se cuece veinte minutos.",
        ),
    ],
    "de": [
        ("Wie gießt man Rosen?", "Auf welche Art soll ich Kakteen gießen?", "Rosen gießt man morgens."),
        ("Wie gießt man Rosen?", "Wie schneidet man Rosen?", "Rosen gießt man morgens."),
        (
            "Welches Öl braucht der Motor Sarn?",
            "Welchen Filter braucht der Motor Sarn?",
            "Der Motor Sarn braucht dünnes Öl.",
        ),
        ("Wann starb Ada Lorn?", "In welchem Alter starb Ada Lorn?", "Ada Lorn starb 2004."),
        (
            "Hat das Museum Rin montags geöffnet?",
            "Ist das Museum Sola am Montag offen?",
            "Das Museum Rin hat montags geöffnet.",
        ),
        (
            "Wie flickt man einen Fahrradschlauch?",
            "Womit flicke ich eine Luftmatratze?",
            "Einen Fahrradschlauch flickt man mit einem Flicken.",
        ),
        ("Wie lange kocht man Reis?", "Wie lange kocht man Linsen?", "Reis kocht man zwanzig Minuten."),
    ],
}


def differs(stored: str, asked: str, answer: str) -> bool:
    kept = StoredAnswer(question=stored, answer=answer, created_at=NOW)
    return find_difference(asked, kept, now=NOW) is not None


@pytest.mark.parametrize("language", SAME)
def test_a_question_in_other_words_is_served(language: str) -> None:
    assert [pair for pair in SAME[language] if differs(*pair)] == []


@pytest.mark.parametrize("language", OTHER)
def test_another_question_is_not_served(language: str) -> None:
    assert [pair for pair in OTHER[language] if not differs(*pair)] == []
